"""A real gateway front: uvicorn in a thread over a real database, and a client that speaks HTTP to it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import psycopg
import uvicorn
from fastapi import FastAPI
from sqlalchemy import Engine

from gateway.http.app import create_app
from gateway.http.settings import HttpSettings
from gateway.service.services import Services
from gateway.turn.dispatching import claim, lose
from gateway.turn.unfolding import Unfolding
from gateway.wiring import services_over, utc_now, wire
from ledger.append import Ledger
from ledger.change import Change, CloseLicence, Licence
from ledger.connect import check_service_login, connect
from ledger.evidence.note import SigningKey
from ledger.log.checkpoints import Notary
from ledger.log.sealer import Sealer
from ledger.state import StreamState
from tests.postgres import TestDatabase

BODY_LIMIT = 256 * 1024
LEASE = 30.0

TABLE: dict[str, Any] = {
    "tools": {
        "put": {
            "effect": "WRITE",
            "writes": ["thing:{name}"],
            "upstream": {"http": "http://127.0.0.1:9/put"},
        },
        "pay": {
            "effect": "WRITE",
            "writes": ["purse:{name}"],
            "approval": "required",
            "upstream": {"http": "http://127.0.0.1:9/pay"},
        },
        "get": {
            "effect": "READ_ONLY",
            "reads": ["thing:{name}"],
            "upstream": {"http": "http://127.0.0.1:9/get"},
        },
    }
}

Body = dict[str, Any]


def block(tool: str, **arguments: object) -> str:
    return f"<tool_call>{json.dumps({'name': tool, 'arguments': arguments})}</tool_call>"


def cut(text: str, size: int = 4) -> list[Body]:
    return [{"text": text[at : at + size], "id": at} for at in range(0, len(text), size)]


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    url: str
    server: uvicorn.Server


@contextmanager
def serving(app: FastAPI) -> Iterator[Served]:
    """``app`` behind uvicorn on a port of its own."""
    # The protocol is named because asyncio sets TCP_NODELAY only then: without, each answer waits 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=5))
        app.state.stopping = lambda: server.should_exit
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started:
            assert thread.is_alive()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        try:
            yield Served(f"http://127.0.0.1:{listener.getsockname()[1]}", server)
        finally:
            server.should_exit = True
            thread.join(20)


@dataclass
class Front:
    """One running front. ``client`` speaks to it; ``force`` and ``in_doubt`` reach behind it."""

    services: Services
    client: httpx2.Client
    url: str
    ledger: Ledger
    app: FastAPI
    audit: psycopg.Connection[Any]
    engine: Engine
    key: SigningKey = field(default_factory=lambda: SigningKey.generate("commitgate/test"))
    opened: int = 0

    def open(self, key: str | None = None, *, source: str = "posted", **members: object) -> Writer:
        self.opened += 1
        body: Body = {
            "commit_key": key or f"turn-{self.opened}",
            "tool_calls": {"format": "hermes", "from": source},
            **members,
        }
        answer = self.client.post("/v1/streams", json=body)
        assert answer.status_code in (200, 201), answer.text
        return Writer(self.client, body["commit_key"], answer.json()["writer_epoch"])

    def seal(self) -> int:
        """Seal and sign what is committed; the log's size."""
        sealer = Sealer(self.engine, lease_seconds=0)
        while sealer.round().events:
            pass
        return Notary(self.engine, self.key, None).publish().size

    def rows(self) -> Mapping[str, int]:
        """Rows of every table of the ledger."""
        tables = self.audit.execute("select tablename from pg_tables where schemaname = 'ledger'").fetchall()
        assert len(tables) >= 6
        counts = " union all ".join(
            f"""select '{name}', count(*) from ledger."{name}" """ for (name,) in tables
        )
        return dict(self.audit.execute(counts).fetchall())

    def dispatch(self, key: str, intent_id: str) -> None:
        """Start a dispatch of a released call, as a dispatcher does."""

        def decide(state: StreamState) -> Change:
            unfolding = Unfolding(state, utc_now())
            force = self.services.tables.current("default")
            sent = claim(unfolding, force, intent_id, worker="w", epoch=1)
            assert sent is not None
            licence = Licence(
                intent_id=intent_id,
                attempt=sent.attempt,
                branch=state.intents[intent_id].branch,
                effect=sent.effect.value,
                worker="w",
                epoch=1,
                lease_seconds=LEASE,
                once_key=intent_id,
            )
            return Change(unfolding.events, (licence,))

        self.ledger.append("default", key, decide)

    def lose(self, key: str, intent_id: str) -> None:
        """Lose the outcome of its first dispatch: a WRITE is in doubt after it."""

        def decide(state: StreamState) -> Change:
            unfolding = Unfolding(state, utc_now())
            force = self.services.tables.current("default")
            assert lose(unfolding, force, intent_id, 1, because="connection_reset")
            return Change(unfolding.events, (CloseLicence(intent_id=intent_id, attempt=1, epoch=1),))

        self.ledger.append("default", key, decide)

    def awaiting_approval(self, **arguments: object) -> Body:
        """A new intent that awaits approval, on a stream of its own."""
        assert self.client.post("/v1/effects", json=TABLE).is_success
        writer = self.open(source="detected")
        [intent] = writer.accept(block("pay", **(arguments or {"name": "x"})))["intents"]
        assert intent["state"] == "awaiting_approval"
        return dict(intent)

    def in_doubt(self) -> tuple[str, str]:
        """(commit key, intent id) of a new intent in doubt. Other tests of the module may have put another table in force."""
        assert self.client.post("/v1/effects", json=TABLE).is_success
        writer = self.open(source="detected")
        intent = writer.accept(block("put", name="a"))["intents"][0]
        self.dispatch(writer.key, intent["intent_id"])
        self.lose(writer.key, intent["intent_id"])
        return writer.key, intent["intent_id"]


@dataclass
class Writer:
    """Writes token events of one stream's main branch."""

    client: httpx2.Client
    key: str
    epoch: int

    @property
    def path(self) -> str:
        return f"/v1/streams/{self.key}"

    def show(self) -> Body:
        answer = self.client.get(self.path)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def write(self, *events: Body, **members: object) -> Body:
        answer = self.client.post(self.path + "/events", json=self.batch(*events, **members))
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def batch(self, *events: Body, **members: object) -> Body:
        return {"writer_epoch": self.epoch, "events": list(events), **members}

    def draft(self, text: str) -> Body:
        main = self.show()["branches"]["main"]
        return self.write(drafted(main["round"], main["drafted_end"], text))

    def rule(self, accepted: int, end: int | None = None, **members: object) -> Body:
        main = self.show()["branches"]["main"]
        end = main["drafted_end"] if end is None else end
        return self.write(ruled(main["round"], main["head"], end, accepted, **members))

    def accept(self, text: str) -> Body:
        main = self.show()["branches"]["main"]
        return self.write({"type": "tokens.accepted", "round": main["round"], "tokens": cut(text)})

    def finish(self, reason: str) -> Body:
        return self.write({"type": "stream.finished", "reason": reason})

    def post(self, body: Body) -> httpx2.Response:
        return self.client.post(self.path + "/intents", json=body)


def drafted(round_: int, start: int, text: str) -> Body:
    return {"type": "tokens.drafted", "round": round_, "start": start, "tokens": cut(text)}


def ruled(round_: int, start: int, end: int, accepted: int, **members: object) -> Body:
    return {
        "type": "tokens.ruled",
        "round": round_,
        "start": start,
        "end": end,
        "accepted": accepted,
        **members,
    }


@contextmanager
def front(database: TestDatabase, settings: HttpSettings | None = None) -> Iterator[Front]:
    """A front over ``database``, with the table above in force."""
    engine = connect(database.service_url)
    try:
        wired = wire(engine)
        services = services_over(wired, ready=lambda: check_service_login(engine))
        app = create_app(services, settings or HttpSettings(body_limit=BODY_LIMIT))
        with (
            psycopg.connect(database.owner_url.replace("+psycopg", ""), autocommit=True) as audit,
            serving(app) as served,
            httpx2.Client(base_url=served.url, timeout=30) as client,
        ):
            answer = client.post("/v1/effects", json=TABLE)
            assert answer.status_code == 200, answer.text
            front = Front(services, client, served.url, wired.ledger, app, audit, engine)
            front.seal()
            yield front
    finally:
        engine.dispose()


def problem(answer: httpx2.Response) -> tuple[int, str]:
    """(status, code) of a problem, whose form is checked."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    body = answer.json()
    assert body["status"] == answer.status_code
    assert body["type"] == "urn:commitgate:problem:" + body["code"]
    assert body["title"]
    assert body["detail"]
    assert "Traceback" not in answer.text
    return answer.status_code, body["code"]
