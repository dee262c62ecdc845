"""What a writer's login can do with plain SQL, past the ledger: INSERT whatever the constraints allow."""

import os
from hashlib import sha256

from sqlalchemy import Engine, text

from ledger.payload import canonical_text
from ledger.sharding import StreamName

OPENED = canonical_text(
    {
        "writer_epoch": 1,
        "format": "hermes",
        "from": "posted",
        "binding": {"kind": "single"},
        "branches_mode": "agree",
        "branches": ["main"],
    }
)
ACCEPTED = '{"round":0,"tokens":[{"text":"a"}]}'

_EVENT = text("""
insert into ledger.events (shard, tenant, commit_key, seq, type, branch, at, payload, salt, payload_digest)
values (:shard, :tenant, :commit_key, :seq, :type, :branch, now(), :payload, :salt, :digest)
""")
_STREAM = text("""
insert into ledger.streams (shard, tenant, commit_key, seq, writer_epoch) values (:shard, :tenant, :commit_key, :seq, 1)
""")


def write(
    engine: Engine, name: StreamName, seq: int, type_: str, payload: str, *, branch: str | None = None
) -> None:
    """One event."""
    salt = os.urandom(16)
    values = {
        **name.columns(),
        "seq": seq,
        "type": type_,
        "branch": branch,
        "payload": payload,
        "salt": salt,
        "digest": sha256(salt + payload.encode()).digest(),
    }
    with engine.begin() as connection:
        connection.execute(_EVENT, values)


def count(engine: Engine, name: StreamName, seq: int) -> None:
    """The row of a stream that reaches up to ``seq``."""
    with engine.begin() as connection:
        connection.execute(_STREAM, {**name.columns(), "seq": seq})


def without_json(engine: Engine, name: StreamName) -> None:
    """A stream whose second event has a payload that is not JSON."""
    write(engine, name, 1, "stream.opened", OPENED)
    write(engine, name, 2, "tokens.accepted", "not json", branch="main")
    count(engine, name, 2)


def without_branch(engine: Engine, name: StreamName) -> None:
    """A stream whose second event names no branch."""
    write(engine, name, 1, "stream.opened", OPENED)
    write(engine, name, 2, "tokens.accepted", ACCEPTED)
    count(engine, name, 2)


def without_kind(engine: Engine, name: StreamName) -> None:
    """A stream whose second event is of a type that is none of ours."""
    write(engine, name, 1, "stream.opened", OPENED)
    write(engine, name, 2, "tokens.invented", "{}")
    count(engine, name, 2)


UNREADABLE = (without_json, without_branch, without_kind)
