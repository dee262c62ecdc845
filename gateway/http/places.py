"""Path parameters: the stream and the intent that an operation is about."""

from typing import Annotated

from fastapi import Depends, Path

from gateway.errors import UnknownCommitKey
from gateway.wire.base import COMMIT_KEY_PATTERN, is_commit_key


async def _commit_key(
    key: Annotated[
        str, Path(description="Commit key of the stream", json_schema_extra={"pattern": COMMIT_KEY_PATTERN})
    ],
) -> str:
    # Also keeps the ledger's reserved streams out of reach: their names are no commit keys.
    if not is_commit_key(key):
        raise UnknownCommitKey(key)
    return key


Key = Annotated[str, Depends(_commit_key)]
"""A commit key. One that no stream can have is unknown, like any other that names no stream."""

IntentId = Annotated[str, Path(alias="id", description="Id of the intent")]
