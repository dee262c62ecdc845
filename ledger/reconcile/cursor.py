"""Cursors: how far a run has come, as text that a later run goes on from."""

import base64
import json

from ledger.errors import BadCursor
from ledger.sharding import SHARDS, StreamName


def cursor_after(name: StreamName) -> str:
    """The cursor behind ``name``."""
    text = json.dumps([name.shard, name.tenant, name.commit_key])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> StreamName:
    """The name that ``cursor`` stands behind; one before all streams for None. Raises ``BadCursor``."""
    if cursor is None:
        return StreamName(0, "", "")
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        shard, tenant, commit_key = json.loads(base64.b64decode(padded, b"-_", validate=True))
    except (ValueError, TypeError, RecursionError) as error:
        raise BadCursor("the cursor is not one that a run gave") from error
    if type(shard) is not int or not 0 <= shard < SHARDS:
        raise BadCursor("the cursor is not one that a run gave")
    if not isinstance(tenant, str) or not isinstance(commit_key, str):
        raise BadCursor("the cursor is not one that a run gave")
    return StreamName(shard, tenant, commit_key)
