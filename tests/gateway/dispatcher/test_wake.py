"""A worker hears at once of what another process let go; without NOTIFY it has no session that listens, and polls."""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests import plain, processes
from tests.gateway.dispatcher.floor import spelled
from tests.gateway.toolserver import ToolServer, eventually, ok
from tests.postgres import TestDatabase, libpq

LISTENERS = (
    "select count(*) from pg_stat_activity"
    " where application_name = 'commitgate-listener' and datname = current_database()"
)
POLL = "300"
"""Seconds between looks: longer than a test may take, so that only a bell can be quick."""


@pytest.fixture
def tools() -> Iterator[ToolServer]:
    with ToolServer() as server:
        server.behave("/write", ok())
        yield server


def environ(database: TestDatabase, home: Path, **more: str) -> dict[str, str]:
    told = {"COMMITGATE_DATABASE_URL": database.service_url, "COMMITGATE_HOME": str(home)}
    return {**told, **{f"COMMITGATE_{name.upper()}": value for name, value in more.items()}}


def listeners(database: TestDatabase) -> int:
    with psycopg.connect(libpq(database.admin_url), autocommit=True) as admin:
        return admin.execute(LISTENERS).fetchone()[0]


def release(client: httpx2.Client, tools: ToolServer) -> None:
    """One stream with one accepted WRITE."""
    effects = {"tools": {"write": {"effect": "WRITE", "upstream": {"http": f"{tools.url}/write"}}}}
    assert client.post("/v1/effects", json=effects).status_code < 300
    opened = client.post("/v1/streams", json={"tool_calls": {"format": "hermes", "from": "detected"}}).json()
    token = {"text": spelled("write", {"n": 1})}
    body = {
        "writer_epoch": opened["writer_epoch"],
        "events": [{"type": "tokens.accepted", "round": 0, "tokens": [token]}],
    }
    written = client.post(f"/v1/streams/{opened['commit_key']}/events", json=body)
    assert written.status_code == 201, written.text
    assert [intent["state"] for intent in written.json()["intents"]] == ["released"]


@pytest.mark.skipif(plain.wanted(), reason="plain engines have no LISTEN")
def test_a_worker_sends_at_once_what_another_process_let_go(
    database: TestDatabase, tools: ToolServer, tmp_path: Path
) -> None:
    settings = environ(database, tmp_path, poll_seconds=POLL)
    with (
        processes.gateway(tmp_path, settings, "--no-dispatch") as gateway,
        processes.dispatcher(tmp_path, settings) as worker,
        httpx2.Client(base_url=gateway.ready["listening"], timeout=30) as client,
    ):
        eventually(lambda: listeners(database) == 1)
        release(client, tools)
        eventually(lambda: len(tools.received("/write")) == 1)
        assert worker.end() == 0
        assert listeners(database) == 0


@pytest.mark.parametrize("more", [{"wake": "poll"}, {"pgbouncer": "1"}])
def test_without_notify_nobody_listens_and_the_poll_finds_it(
    database: TestDatabase, tools: ToolServer, tmp_path: Path, more: dict[str, str]
) -> None:
    settings = environ(database, tmp_path, **more)
    with (
        processes.gateway(tmp_path, settings, "--no-dispatch") as gateway,
        processes.dispatcher(tmp_path, settings),
        httpx2.Client(base_url=gateway.ready["listening"], timeout=30) as client,
    ):
        release(client, tools)
        eventually(lambda: len(tools.received("/write")) == 1)
        assert listeners(database) == 0
