"""Planting what cannot happen: rows written past every trigger, as only a superuser can.

Each statement stands for a fault of the gateway, of a restore, or of a hand in the database; reconciliation has to see it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, create_engine, insert, text, update

from ledger.events import EventType
from ledger.payload import canonical_text, payload_digest
from ledger.schema import dispatches, events
from ledger.sharding import StreamName
from ledger.state import Intent

_GUARDS = text("""
select tgrelid::regclass::text, tgname from pg_trigger
where not tgisinternal and tgrelid in ('ledger.events'::regclass, 'ledger.dispatches'::regclass)
""")


class Planter:
    """A superuser on one database, with triggers off."""

    def __init__(self, admin_url: str) -> None:
        self.engine: Engine = create_engine(admin_url)

    def close(self) -> None:
        self.engine.dispose()

    def event(
        self,
        name: StreamName,
        seq: int,
        type_: EventType,
        payload: Mapping[str, object],
        *,
        at: datetime | None = None,
        **columns: object,
    ) -> None:
        """An event at ``seq``; ``columns``: branch, intent_id, attempt, head_after, cut_at."""
        told, salt = canonical_text(payload), b"s" * 16
        row = {
            **name.columns(),
            "seq": seq,
            "type": type_.value,
            "at": at or datetime.now(UTC) - timedelta(hours=1),
            "payload": told,
            "salt": salt,
            "payload_digest": payload_digest(salt, told),
            **columns,
        }
        self._run(insert(events).values(row))

    def dispatch_row(self, name: StreamName, intent_id: str, **columns: object) -> None:
        """A licence; ``columns`` take the place of those of a settled WRITE's first attempt."""
        row = {
            **name.columns(),
            "intent_id": intent_id,
            "attempt": 1,
            "branch": "main",
            "effect": "WRITE",
            "once_key": f"planted:{intent_id}:{columns.get('attempt', 1)}",
            "worker": "w",
            "epoch": 1,
            "lease_until": datetime.now(UTC),
            "started_seq": 1,
            "open": False,
            "unsent": False,
            **columns,
        }
        self._run(insert(dispatches).values(row))

    def sent(self, name: StreamName, intent: Intent, seq: int, *, attempt: int = 1, effect: str) -> None:
        """A dispatch with its event at ``seq`` and its row."""
        body = {
            "intent_id": intent.intent_id,
            "attempt": attempt,
            "worker": "w",
            "epoch": 1,
            "effect": effect,
        }
        about = {"branch": intent.branch, "intent_id": intent.intent_id, "attempt": attempt}
        self.event(name, seq, EventType.DISPATCH_STARTED, body, **about)
        self.dispatch_row(name, intent.intent_id, attempt=attempt, effect=effect, started_seq=seq)

    def settled(self, name: StreamName, intent: Intent, seq: int, *, attempt: int = 1) -> None:
        """An outcome at ``seq``."""
        body = {"intent_id": intent.intent_id, "attempt": attempt, "status": "ok", "content": None}
        about = {"branch": intent.branch, "intent_id": intent.intent_id, "attempt": attempt}
        self.event(name, seq, EventType.DISPATCH_SETTLED, body | {"unsent": False}, **about)

    def change_payload(self, name: StreamName, seq: int, payload: Mapping[str, object]) -> None:
        """Another payload for a recorded event."""
        told = canonical_text(payload)
        values = {"payload": told, "payload_digest": payload_digest(b"s" * 16, told), "salt": b"s" * 16}
        self._run(self._event(name, seq).values(values))

    def redact(self, name: StreamName, seq: int) -> None:
        self._run(self._event(name, seq).values(payload=None, salt=None))

    def forget(self, table_name: str, name: StreamName, where: str = "true") -> None:
        """Take rows of the stream away."""
        statement = (
            f"delete from ledger.{table_name} where tenant = :tenant and commit_key = :key and {where}"
        )
        self._run(text(statement).bindparams(tenant=name.tenant, key=name.commit_key))

    def _event(self, name: StreamName, seq: int):
        key = name.columns() | {"seq": seq}
        return update(events).where(*(events.c[column] == value for column, value in key.items()))

    def _run(self, statement) -> None:
        with self.engine.begin() as connection:
            # The guards stand even under replication; whoever owns the tables can still take them off for a moment.
            guarded = connection.execute(_GUARDS).all()
            for table, trigger in guarded:
                connection.execute(text(f"alter table {table} disable trigger {trigger}"))
            connection.execute(statement)
            for table, trigger in guarded:
                connection.execute(text(f"alter table {table} enable always trigger {trigger}"))
