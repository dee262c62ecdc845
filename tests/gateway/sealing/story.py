"""Streams in a ledger, written by the services themselves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from sqlalchemy import Engine

from gateway.principal import everyone
from gateway.turn.opening import StreamTerms
from gateway.turn.tokens import TokenEvent
from gateway.wiring import Wired, wire
from ledger.connect import connect
from ledger.events import EventType
from tests.postgres import TestDatabase, libpq

TERMS = StreamTerms("hermes", "posted")


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something that has to become so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@dataclass(frozen=True)
class Story:
    """Writes streams: the opening is event 1, each text one event more."""

    engine: Engine
    wired: Wired

    def write(self, key: str, *texts: str, tenant: str = "default") -> None:
        caller = everyone(tenant)
        opened, _ = self.wired.streams.open(caller, key, TERMS)
        for text in texts:
            body = {"round": 0, "tokens": [{"text": text}]}
            event = TokenEvent(EventType.TOKENS_ACCEPTED, body)
            self.wired.streams.write(caller, key, int(str(opened["writer_epoch"])), [event])


@contextmanager
def story(database: TestDatabase) -> Iterator[Story]:
    engine = connect(database.service_url)
    try:
        yield Story(engine, wire(engine))
    finally:
        engine.dispose()


def tamper(database: TestDatabase, statement: str, *values: object) -> int:
    """Change what is recorded, as only somebody can who takes the triggers off; how many rows."""
    with psycopg.connect(libpq(database.admin_url)) as connection:
        for table in ("events", "tiles", "checkpoints", "seals"):
            connection.execute(f"alter table ledger.{table} disable trigger all")
        return connection.execute(statement, values or None).rowcount  # type: ignore[arg-type]
