"""Tools of MCP servers: one long-lived session a server, over stdio or streamable HTTP."""
