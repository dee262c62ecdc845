"""A real ledger, a real tool server and real dispatchers, for tests to drive turns on."""

import asyncio
import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine, text

from effects.intent import IntentState
from gateway.dispatcher.settings import DispatcherSettings
from gateway.dispatcher.worker import Dispatcher
from gateway.principal import everyone
from gateway.service.streams import Streams
from gateway.service.tables import EffectTables
from gateway.turn.opening import StreamTerms
from gateway.turn.scanner import BlockScanner
from gateway.turn.tokens import TokenEvent
from gateway.upstream.http import HttpUpstream
from gateway.upstream.port import Upstream
from ledger.append import Ledger
from ledger.connect import connect
from ledger.errors import LedgerUnavailable
from ledger.events import Event, EventType
from ledger.sharding import StreamName
from ledger.state import Intent
from ledger.work import Work
from tests.gateway.toolserver import ToolServer, eventually, free_port

TENANT = "default"
FAST = DispatcherSettings(
    lease_floor=10.0,
    lease_margin=0.1,
    poll_interval=0.02,
    sweep_interval=0.05,
    late_wait=20.0,
    retry_pause=0.05,
    backoff=0.01,
    grace=5.0,
)

TABLE = """
policy: {{reads_behind_writes: send}}
tools:
  read: {{effect: READ_ONLY, reads: [], timeout: {timeout}, upstream: {{http: "{url}/read"}}}}
  put: {{effect: IDEMPOTENT, window: 1h, writes: ["{{key}}"], timeout: {timeout}, upstream: {{http: "{url}/put"}}}}
  set: {{effect: IDEMPOTENT, writes: ["{{key}}"], timeout: {timeout}, upstream: {{http: "{url}/set"}}}}
  write: {{effect: WRITE, writes: ["{{key}}"], timeout: {timeout}, upstream: {{http: "{url}/write"}}}}
  gone: {{effect: WRITE, writes: ["{{key}}"], timeout: {timeout}, upstream: {{http: "http://127.0.0.1:{nowhere}/gone"}}}}
"""


class Clock:
    """The real time, and what a test adds to it."""

    def __init__(self) -> None:
        self._ahead = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def skip(self, seconds: float) -> None:
        self._ahead += timedelta(seconds=seconds)


@contextmanager
def floor_over(url: str, tools: ToolServer | None = None) -> Iterator["Floor"]:
    """A floor over a database; with a tool server of its own where none is given. Nothing is connected afterwards."""
    engine = connect(url)
    with nullcontext(tools) if tools is not None else ToolServer() as serving:
        floor = Floor(engine, serving, Clock())
        try:
            yield floor
        finally:
            # A thread of the ledger may decide still for a dispatcher that was stopped, on a connection of the engine.
            floor.ledger.close()
    # What ran inside the database is not waited for either, and a connection that comes back later is closed by nobody.
    eventually(lambda: engine.pool.checkedout() == 0)  # type: ignore[attr-defined]
    engine.dispose()


@dataclass
class Floor:
    engine: Engine
    tools: ToolServer
    clock: Clock

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.engine, clock=self.clock)
        self.tables = EffectTables(self.ledger, self.clock)
        self.streams = Streams(self.ledger, self.tables, BlockScanner(), self.clock)
        self.work = Work(self.engine)
        self._keys = (f"turn-{number}" for number in itertools.count())
        self.put_in_force()

    def put_in_force(self, *, timeout: str = "10s", **classes: str) -> None:
        table = TABLE.format(url=self.tools.url, nowhere=free_port(), timeout=timeout)
        for tool, line in classes.items():
            table += f"  {tool}: {line.replace('URL', self.tools.url)}\n"
        self.tables.apply(everyone(TENANT), table)

    def dispatcher(
        self,
        settings: DispatcherSettings = FAST,
        *,
        ledger: Ledger | None = None,
        upstream: Upstream | None = None,
        **more: Any,
    ) -> Dispatcher:
        return Dispatcher(
            ledger or self.ledger,
            self.work,
            self.tables,
            upstream or HttpUpstream(),
            settings,
            self.clock,
            **more,
        )

    @contextmanager
    def dispatching(self, settings: DispatcherSettings = FAST, **more: Any) -> Iterator[Dispatcher]:
        """A dispatcher in a thread for the length of the block."""
        running = self.dispatcher(settings, **more)
        running.start()
        try:
            yield running
        finally:
            running.stop(grace=0)

    def draft(self, tool: str, *, key: str | None = None, **arguments: object) -> "Turn":
        """A stream with one drafted call; its tokens are not ruled on yet."""
        key = key or next(self._keys)
        view, _ = self.streams.open(everyone(TENANT), key, StreamTerms(source="detected"))
        turn = Turn(self, key, int(str(view["writer_epoch"])))
        turn.write(
            EventType.TOKENS_DRAFTED,
            round=0,
            start=0,
            tokens=[{"text": "So: "}, {"text": spelled(tool, arguments)}],
        )
        return turn

    def turn(self, tool: str, **arguments: object) -> "Turn":
        """A stream with one accepted call."""
        turn = self.draft(tool, **arguments)
        turn.accept()
        return turn

    def licences(self, turn: "Turn") -> list[dict[str, Any]]:
        name = StreamName.of(TENANT, turn.key).columns()
        statement = text(
            "select * from ledger.dispatches where shard = :shard and tenant = :tenant"
            " and commit_key = :commit_key order by attempt"
        )
        with self.engine.connect() as connection:
            return [dict(row) for row in connection.execute(statement, name).mappings()]


@dataclass
class Turn:
    floor: Floor
    key: str
    epoch: int

    def write(self, type_: EventType, **payload: object) -> None:
        self.floor.streams.write(everyone(TENANT), self.key, self.epoch, [TokenEvent(type_, payload)])

    def accept(self) -> None:
        self.write(EventType.TOKENS_RULED, round=0, start=0, end=2, accepted=2)

    def reject(self) -> None:
        self.write(EventType.TOKENS_RULED, round=0, start=0, end=2, accepted=1)

    @property
    def intent(self) -> Intent:
        [intent] = self.floor.ledger.read(TENANT, self.key).intents.values()
        return intent

    def until(self, state: IntentState | str, *, final: bool | None = None) -> Intent:
        def there() -> Intent | None:
            try:
                intent = self.intent
            except LedgerUnavailable:  # a server that a test ended or put another in the place of
                return None
            return intent if intent.state == state and final in (None, intent.final) else None

        try:
            return eventually(there)
        except AssertionError:
            raise AssertionError(f"{self.intent} after {self.types}") from None

    @property
    def events(self) -> list[Event]:
        return self.floor.ledger.events(TENANT, self.key, after=0, limit=1000)

    def of(self, type_: EventType) -> list[dict[str, Any]]:
        return [dict(event.payload) for event in self.events if event.type is type_]

    @property
    def types(self) -> list[str]:
        return [event.type.value for event in self.events]


def spelled(tool: str, arguments: dict[str, object]) -> str:
    return f"<tool_call>{json.dumps({'name': tool, 'arguments': arguments})}</tool_call>"


def with_settings(**changes: Any) -> DispatcherSettings:
    return replace(FAST, **changes)


class Pauses:
    """A sleep that remembers what it was asked for, and waits only where a test holds it."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.began = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def hold(self) -> None:
        self.go_on.clear()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        self.began.set()
        await asyncio.to_thread(self.go_on.wait, 30)
