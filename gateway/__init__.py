"""The composition root: service, dispatcher, upstreams, HTTP API and command line."""
