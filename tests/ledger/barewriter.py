"""What a writer's login can do with plain SQL, past the ledger: INSERT whatever the constraints allow."""

import os
from collections.abc import Iterable
from hashlib import sha256

from sqlalchemy import Engine, text

from ledger.events import Event
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
insert into ledger.events (shard, tenant, commit_key, seq, type, branch, intent_id, attempt, head_after, at, payload, salt,
    payload_digest)
values (:shard, :tenant, :commit_key, :seq, :type, :branch, :intent_id, :attempt, :head_after, now(), :payload, :salt, :digest)
""")
_STREAM = text("""
insert into ledger.streams (shard, tenant, commit_key, seq, writer_epoch) values (:shard, :tenant, :commit_key, :seq, 1)
""")


def write(
    engine: Engine,
    name: StreamName,
    seq: int,
    type_: str,
    payload: str,
    *,
    branch: str | None = None,
    intent_id: str | None = None,
    attempt: int | None = None,
    head_after: int | None = None,
) -> None:
    """One event."""
    about = {"branch": branch, "intent_id": intent_id, "attempt": attempt, "head_after": head_after}
    with engine.begin() as connection:
        connection.execute(_EVENT, _row(name, seq, type_, payload, about))


def write_all(engine: Engine, name: StreamName, history: Iterable[Event], payloads: Iterable[str]) -> None:
    """The events of ``history`` in another stream, with other payloads."""
    rows = [
        _row(name, event.seq, event.type.value, payload, event._asdict())
        for event, payload in zip(history, payloads, strict=True)
    ]
    with engine.begin() as connection:
        connection.execute(_EVENT, rows)


def _row(name: StreamName, seq: int, type_: str, payload: str, about: dict[str, object]) -> dict[str, object]:
    salt = os.urandom(16)
    return {
        **name.columns(),
        **{column: about[column] for column in ("branch", "intent_id", "attempt", "head_after")},
        "seq": seq,
        "type": type_,
        "payload": payload,
        "salt": salt,
        "digest": sha256(salt + payload.encode()).digest(),
    }


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
