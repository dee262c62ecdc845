"""The MCP front: upstream tools for clients that speak MCP, behind the same gate (interface.md, "MCP")."""
