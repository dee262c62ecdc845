"""Server-sent events of one stream: live, resumable, bounded, and nothing is left of who went away."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from urllib.parse import urlsplit

import httpx2
import pytest

from gateway.http.settings import HttpSettings
from tests.gateway.http.front import BODY_LIMIT, Front, Writer, block, problem
from tests.gateway.http.front import front as running_front
from tests.gateway.http.listening import Listening, listening
from tests.postgres import TestDatabase

HEADERS = {"Accept": "text/event-stream"}
_hundreds = count(100, 100)


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def _own(database: TestDatabase, **settings: float) -> Iterator[Front]:
    made = HttpSettings(body_limit=BODY_LIMIT, **settings)  # type: ignore[arg-type]
    with running_front(database, made) as front:
        front.opened = next(_hundreds)  # streams of its own in the database of the module
        yield front


def test_tells_what_was_and_what_comes_and_ends_with_the_stream(front: Front) -> None:
    writer = front.open()
    writer.accept("abcd")
    with listening(front.client, writer.path) as live:
        assert live.take(2) == [1, 2]
        writer.accept("efgh")
        came = live.next()
        assert came is not None
        assert came == (3, front.client.get(writer.path + "/events", params={"after": 2}).json()["events"][0])
        writer.finish("stop")
        assert live.rest() == [4]


def test_lasts_until_every_call_rests(front: Front) -> None:
    writer = front.open(source="detected")
    intent = writer.accept(block("put", name="live"))["intents"][0]["intent_id"]
    front.dispatch(writer.key, intent)
    writer.finish("stop")
    before = writer.show()["seq"]
    with listening(front.client, writer.path) as live:
        assert live.take(before) == list(range(1, before + 1))
        front.lose(writer.key, intent)  # in doubt: nothing more comes by itself
        rest = live.rest()
    assert rest == list(range(before + 1, writer.show()["seq"] + 1))
    assert rest


def test_goes_on_behind_the_last_event_that_came(front: Front) -> None:
    writer = front.open()
    for text in "abc":
        writer.accept(text)
    with listening(front.client, writer.path) as live:
        assert live.take(2) == [1, 2]
    with listening(front.client, writer.path, last=2) as live:
        assert live.take(2) == [3, 4]
    with listening(front.client, writer.path, after=3) as live:
        assert live.take(1) == [4]
    with listening(front.client, writer.path, last=3, after=1) as live:
        assert live.take(1) == [4]
        writer.finish("length")
        assert live.rest() == [5]


def test_whoever_reconnects_after_the_end_is_told_to_stop(front: Front) -> None:
    writer = front.open()
    writer.finish("stop")
    headers = HEADERS | {"Last-Event-ID": "2"}
    assert front.client.get(writer.path + "/events", headers=headers).status_code == 204
    with listening(front.client, writer.path, after=2) as live:
        assert live.rest() == []
    with listening(front.client, writer.path, last=1) as live:
        assert live.rest() == [2]


def test_is_live_whoever_appends(front: Front, module_database: TestDatabase) -> None:
    """Within a poll, also where another process appends; and many look at the database as one."""
    writer = front.open()
    with _own(module_database) as other:
        elsewhere = Writer(other.client, writer.key, writer.epoch)
        with listening(front.client, writer.path) as one, listening(front.client, writer.path) as two:
            assert one.take(1) == two.take(1) == [1]
            for seq in range(2, 12):
                (writer if seq % 2 else elsewhere).accept("x")
                assert one.take(1) == [seq]
            assert two.take(10) == list(range(2, 12))
            delays = sorted(_delay(writer, one) for _ in range(9))
    assert delays[4] < 0.25


def _delay(writer: Writer, live: Listening) -> float:
    writer.accept("x")
    began = time.monotonic()
    live.take(1)
    return time.monotonic() - began


def test_says_that_it_lives_in_comments(module_database: TestDatabase) -> None:
    with _own(module_database, heartbeat_seconds=0.05) as front:
        writer = front.open()
        with listening(front.client, writer.path) as live:
            assert live.take(1) == [1]
            _until(lambda: live.comments > 2)
            writer.finish("stop")
            assert live.rest() == [2]


def test_nothing_is_left_of_a_client_that_goes_away(front: Front) -> None:
    writer = front.open()
    for _ in range(3):
        with listening(front.client, writer.path) as live:
            assert live.take(1) == [1]
            assert front.app.state.followers.count >= 1
    _until(lambda: front.app.state.followers.count == 0)


def test_a_client_that_reads_nothing_is_let_go(module_database: TestDatabase) -> None:
    with _own(module_database, send_seconds=0.3) as front:
        writer = front.open()
        for _ in range(60):
            writer.write({"type": "tokens.accepted", "round": 0, "tokens": [{"text": "x" * 200_000}]})
        address = urlsplit(front.url)
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect((address.hostname, address.port))
            request = f"GET {writer.path}/events HTTP/1.1\r\nHost: {address.netloc}\r\nAccept: text/event-stream\r\n\r\n"
            slow.sendall(request.encode())
            _until(lambda: front.app.state.followers.count == 1)
            _until(lambda: front.app.state.followers.count == 0)
        assert front.client.get("/healthz").status_code == 200


def test_more_than_fit_are_refused_and_fit_later(module_database: TestDatabase) -> None:
    with _own(module_database, live_streams=1) as front:
        writer = front.open()
        with listening(front.client, writer.path) as live:
            assert live.take(1) == [1]
            refused = front.client.get(writer.path + "/events", headers=HEADERS)
            assert problem(refused) == (503, "too_many_followers")
            assert refused.headers["Retry-After"]
        _until(lambda: front.app.state.followers.count == 0)
        with listening(front.client, writer.path) as live:
            assert live.take(1) == [1]


def test_ends_when_the_server_ends(module_database: TestDatabase) -> None:
    with _own(module_database) as front:
        writer = front.open()
        ending = threading.Event()
        front.app.state.stopping = ending.is_set
        with listening(front.client, writer.path) as live:
            assert live.take(1) == [1]
            ending.set()
            assert live.rest() == []


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "9007199254740992", "\N{ARABIC-INDIC DIGIT ONE}"])
def test_refuses_what_is_no_seq(front: Front, last: str) -> None:
    writer = front.open()
    headers = {**HEADERS, "Last-Event-ID": last.encode()}
    answer = front.client.get(writer.path + "/events", headers=headers)  # type: ignore[arg-type]
    assert problem(answer) == (422, "invalid_request")


def test_refuses_a_limit_and_unknown_streams(front: Front) -> None:
    writer = front.open()
    answer = front.client.get(writer.path + "/events", headers=HEADERS, params={"limit": 3})
    assert problem(answer) == (422, "invalid_request")
    assert problem(front.client.get("/v1/streams/none/events", headers=HEADERS)) == (
        404,
        "unknown_commit_key",
    )


def test_only_a_client_that_lists_the_type_gets_it(front: Front) -> None:
    writer = front.open()
    for accept in ("application/json", "*/*", "text/event-streams"):
        answer = front.client.get(writer.path + "/events", headers={"Accept": accept})
        assert answer.headers["content-type"] == "application/json"
    accept = "application/json;q=0.1, Text/Event-Stream; q=1"
    with front.client.stream("GET", writer.path + "/events", headers={"Accept": accept}) as live:
        assert live.headers["content-type"].startswith("text/event-stream")
    assert isinstance(front.client, httpx2.Client)
