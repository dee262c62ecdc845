"""Where calls go: one port, and an adapter for each kind of tool server."""
