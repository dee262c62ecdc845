from pathlib import Path


def mcp_peer_path() -> str:
    """Where the program of the MCP peer is."""
    return str(Path(__file__).with_name("mcp_peer.py"))
