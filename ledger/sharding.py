"""Which shard a stream lives in. Stored in every row: changing this function would orphan what is written."""

import hashlib
from functools import lru_cache
from typing import NamedTuple

SHARDS = 256
"""Fixed for ever: the number of logical shards, however many servers hold them."""


def shard_of(tenant: str, commit_key: str) -> int:
    """The shard, 0 to 255, of the stream (tenant, commit key)."""
    return _hash(tenant, commit_key)


def shard_of_tenant(tenant: str) -> int:
    """The shard, 0 to 255, of rows that belong to a tenant and to no stream (pauses)."""
    return _hash(tenant)


class StreamName(NamedTuple):
    """What every key of a stream's rows begins with."""

    shard: int
    tenant: str
    commit_key: str

    @classmethod
    def of(cls, tenant: str, commit_key: str) -> "StreamName":
        """The name of the stream (tenant, commit key)."""
        return _named(tenant, commit_key)

    def columns(self) -> dict[str, object]:
        """The name as columns of a row."""
        return {"shard": self.shard, "tenant": self.tenant, "commit_key": self.commit_key}


@lru_cache(maxsize=8192)
def _named(tenant: str, commit_key: str) -> StreamName:
    return StreamName(shard_of(tenant, commit_key), tenant, commit_key)


def _hash(*parts: str) -> int:
    # Lengths in front keep ("a", "bc") and ("ab", "c") apart.
    encoded = [part.encode() for part in parts]
    joined = b"".join(len(part).to_bytes(4, "big") + part for part in encoded)
    return hashlib.sha256(joined).digest()[0]
