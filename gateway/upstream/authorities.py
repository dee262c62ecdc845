"""The authorities whose certificates are taken."""

import ssl
from functools import cache

import httpx2


@cache
def authorities() -> ssl.SSLContext:
    """Made once, for that takes a while."""
    return httpx2.create_ssl_context(trust_env=False)
