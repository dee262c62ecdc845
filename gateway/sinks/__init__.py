"""Event sinks: how a decoding loop reaches the ledger, in process or over HTTP (port: ``decoding.sink``)."""
