"""The services over HTTP (interface.md, "HTTP"): FastAPI in front, problems for everything that goes wrong."""
