"""The HTTP adapter: what all adapters do, and what HTTP says of its own."""

import asyncio
import base64
import json
import re
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from effects.classes import EffectClass
from effects.intent import ResultStatus
from gateway.turn.dispatching import Assignment
from gateway.upstream.http import HttpUpstream
from gateway.upstream.port import Answered, Layer, MaybeSent, NotSent, Reply
from tests.gateway.toolserver import (
    Behaviour,
    Exchange,
    Held,
    Received,
    ToolServer,
    free_port,
    half,
    ok,
    reset,
    status,
)
from tests.gateway.upstream.calls import assignment
from tests.gateway.upstream.running import Running
from tests.gateway.upstream.suite import EFFECTS, UpstreamSuite

PATH = "/tool"


class HttpBench:
    def __init__(self, server: ToolServer) -> None:
        self.server = server
        self.url = server.url + PATH
        self._held: Held | None = None
        self._finished: list[object] = []

    def call(self, effect: EffectClass = EffectClass.WRITE, **told: Any) -> Assignment:
        return assignment(self.url, effect, **told)

    def unreachable(self, effect: EffectClass) -> Assignment:
        return assignment(f"http://127.0.0.1:{free_port()}/tool", effect)

    def does_answer(self, content: object) -> None:
        self.server.behave(PATH, self._noted(ok(content)))

    def does_echo(self) -> None:
        self.server.behave(PATH, lambda exchange: exchange.answer(200, exchange.received.body))

    def does_refuse(self, content: object) -> None:
        self.server.behave(PATH, status(404, json.dumps(content).encode()))

    def does_answer_bytes(self, count: int) -> None:
        self.server.behave(PATH, status(200, b"x" * count))

    def does_answer_nonsense(self) -> None:
        self.server.behave(PATH, status(200, b"not json"))

    def does_hold(self, content: object) -> None:
        self._held = self.server.hold(PATH, self._noted(ok(content)))

    def does_fail_in_protocol(self) -> None:
        error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no such tool"}}
        self.server.behave(PATH, ok(error))

    def does_die(self) -> None:
        self.server.behave(PATH, reset)

    def release(self) -> None:
        if self._held is not None:
            self._held.release()

    def said(self, content: object) -> object:
        return content

    def received(self) -> list[bytes]:
        return [received.body for received in self.server.received(PATH)]

    def finished(self) -> list[object]:
        return self._finished

    def carried(self) -> dict[str, str | None]:
        headers = self.server.received(PATH)[-1].headers
        return {
            "commit_key": headers.get("commit-key"),
            "intent_id": headers.get("intent-id"),
            "idempotency_key": headers.get("idempotency-key"),
            "traceparent": headers.get("traceparent"),
        }

    def _noted(self, behaviour: Behaviour) -> Behaviour:
        """What it does not manage to write any more was done all the same."""

        def done(exchange: Exchange) -> None:
            self._finished.append(json.loads(exchange.received.body))
            behaviour(exchange)

        return done


@pytest.fixture
def server() -> Iterator[ToolServer]:
    with ToolServer() as running:
        yield running


@pytest.fixture
def tool(server: ToolServer) -> HttpBench:
    return HttpBench(server)


@pytest.fixture
def bench(tool: HttpBench) -> HttpBench:
    return tool


@pytest.fixture
def running() -> Iterator[Running]:
    with Running(HttpUpstream()) as runs:
        yield runs


class TestHttp(UpstreamSuite):
    """All that every adapter must do."""


def sent(calls: list[Assignment], upstream: HttpUpstream | None = None) -> list[Reply]:
    async def run() -> list[Reply]:
        used = upstream or HttpUpstream()
        try:
            return [await used.send(call, timeout=10) for call in calls]
        finally:
            await used.aclose()

    return asyncio.run(run())


def only(server: ToolServer) -> Received:
    [received] = server.received()
    return received


def test_the_body_is_the_accepted_bytes_and_headers_name_the_call(
    tool: HttpBench, server: ToolServer
) -> None:
    raw = '{ "b": 1.0,\n "a":"\\u00fc",  "n": 1e2 }'
    sent([assignment(tool.url, arguments=raw)])
    received = only(server)
    assert received.method == "POST"
    assert received.body == raw.encode()
    assert received.headers["content-type"] == "application/json"
    assert received.headers["commit-key"] == "turn-1"
    assert received.headers["intent-id"] == "intent-1"
    assert re.fullmatch(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01", received.headers["traceparent"])


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 410, 422, 425, 429, 451, 499])
def test_4xx_is_the_tools_own_refusal(tool: HttpBench, server: ToolServer, code: int) -> None:
    server.behave(PATH, status(code))
    assert sent([assignment(tool.url)]) == [Answered(ResultStatus.TOOL_ERROR, {"error": "no"})]


def test_an_empty_refusal_says_its_status(tool: HttpBench, server: ToolServer) -> None:
    server.behave(PATH, status(403, b""))
    assert sent([assignment(tool.url)]) == [Answered(ResultStatus.TOOL_ERROR, {"http_status": 403})]


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308, 408, 500, 502, 503, 504])
def test_what_says_neither_yes_nor_no_is_unclear_and_redirects_are_not_followed(
    tool: HttpBench, server: ToolServer, code: int
) -> None:
    server.behave(PATH, status(code, headers={"Location": server.url + "/elsewhere"}))
    assert sent([assignment(tool.url)]) == [MaybeSent(f"http_{code}")]
    assert [r.path for r in server.received()] == [PATH]


@pytest.mark.parametrize("code", [200, 201, 202])
@pytest.mark.parametrize(
    ("body", "content"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b"[1, 2.5, null]", [1, 2.5, None]),
        (b'"text"', "text"),
        (b"not json", {"raw": "not json"}),
        (b'{"a": 1, "a": 2}', {"raw": '{"a": 1, "a": 2}'}),
        (b'{"a": NaN}', {"raw": '{"a": NaN}'}),
        (b'{"a": 9007199254740993}', {"raw": '{"a": 9007199254740993}'}),
        (b'"\\ud800"', {"raw": '"\\ud800"'}),
        (b"\xff\xfe", {"raw_base64": base64.b64encode(b"\xff\xfe").decode()}),
        (b"[" * 100 + b"]" * 100, {"raw": "[" * 100 + "]" * 100}),
        (b"", None),
    ],
)
def test_2xx_is_settled_whatever_it_says(
    tool: HttpBench, server: ToolServer, code: int, body: bytes, content: object
) -> None:
    server.behave(PATH, status(code, body))
    assert sent([assignment(tool.url)]) == [Answered(ResultStatus.OK, content)]


def test_no_content_is_settled(tool: HttpBench, server: ToolServer) -> None:
    server.behave(PATH, status(204, b""))
    assert sent([assignment(tool.url)]) == [Answered(ResultStatus.OK, None)]


def test_an_answer_that_is_too_large_happened(tool: HttpBench, server: ToolServer) -> None:
    server.behave(PATH, status(200, b"x" * 100_000))
    [reply] = sent([assignment(tool.url, max_result=10_000)])
    assert isinstance(reply, Answered)
    assert reply.status is ResultStatus.OK
    assert isinstance(reply.content, dict)
    assert reply.content["truncated"] is True
    assert reply.content["limit_bytes"] == 10_000
    assert base64.b64decode(str(reply.content["raw_base64"])) == b"x" * 4096


def test_the_largest_answer_that_is_taken_is_whole(tool: HttpBench, server: ToolServer) -> None:
    server.behave(PATH, status(200, b"x" * 10_000))
    assert sent([assignment(tool.url, max_result=10_000)]) == [
        Answered(ResultStatus.OK, {"raw": "x" * 10_000})
    ]


@pytest.mark.parametrize("effect", [EffectClass.IDEMPOTENT, EffectClass.WRITE])
def test_no_kept_alive_connection_carries_an_effect(
    tool: HttpBench, server: ToolServer, effect: EffectClass
) -> None:
    sent([assignment(tool.url, effect) for _ in range(3)])
    assert len({received.connection for received in server.received()}) == 3
    assert {received.headers["connection"] for received in server.received()} == {"close"}


def test_reads_share_a_kept_alive_connection(tool: HttpBench, server: ToolServer) -> None:
    sent([assignment(tool.url, EffectClass.READ_ONLY) for _ in range(3)])
    assert len({received.connection for received in server.received()}) == 1


def test_an_effect_does_not_borrow_a_reads_connection(tool: HttpBench, server: ToolServer) -> None:
    sent([assignment(tool.url, EffectClass.READ_ONLY), assignment(tool.url, EffectClass.WRITE)])
    assert len({received.connection for received in server.received()}) == 2


def test_cookies_do_not_travel_from_call_to_call(tool: HttpBench, server: ToolServer) -> None:
    server.behave(PATH, status(200, b"{}", headers={"Set-Cookie": "session=1; Path=/"}))
    sent([assignment(tool.url, EffectClass.READ_ONLY) for _ in range(2)])
    assert all("cookie" not in received.headers for received in server.received())


def test_the_environments_proxy_is_ignored(
    tool: HttpBench, server: ToolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert sent([assignment(tool.url)]) == [Answered(ResultStatus.OK, {"ok": True})]


def test_a_connection_that_does_not_come_about_in_time_is_not_sent() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        url = f"http://127.0.0.1:{full.getsockname()[1]}/tool"
        fillers = [socket.socket() for _ in range(8)]
        try:
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(full.getsockname())
            assert sent([assignment(url, timeout=0.3)]) == [NotSent("connect_timeout")]
        finally:
            for filler in fillers:
                filler.close()


def test_a_failed_tls_handshake_is_not_sent(server: ToolServer) -> None:
    assert ssl.HAS_TLSv1_2
    [reply] = sent([assignment(server.url.replace("http:", "https:") + PATH)])
    assert isinstance(reply, NotSent)
    assert server.received(PATH) == []


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "http://", "http://127.0.0.1:99999/x", "http://[::1"])
def test_a_url_that_cannot_be_called_is_not_sent(url: str) -> None:
    [reply] = sent([assignment(url)])
    assert isinstance(reply, NotSent)


def test_giving_up_a_call_frees_its_connection_and_the_next_one_works(
    tool: HttpBench, server: ToolServer
) -> None:
    held = server.hold(PATH)

    async def run() -> Reply:
        upstream = HttpUpstream()
        waiting = asyncio.create_task(
            upstream.send(assignment(tool.url, EffectClass.READ_ONLY), timeout=None)
        )
        await asyncio.to_thread(server.await_received, PATH)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        server.behave(PATH, ok({"n": 2}))
        try:
            return await upstream.send(assignment(tool.url, EffectClass.READ_ONLY), timeout=10)
        finally:
            await upstream.aclose()

    assert asyncio.run(run()) == Answered(ResultStatus.OK, {"n": 2})
    held.release()


def test_a_name_that_does_not_resolve_is_not_sent() -> None:
    [reply] = sent([assignment("http://no-such-host.invalid/tool")])
    assert isinstance(reply, NotSent)


@pytest.mark.parametrize("effect", EFFECTS)
def test_an_answer_that_breaks_off_is_unclear(
    tool: HttpBench, server: ToolServer, effect: EffectClass
) -> None:
    server.behave(PATH, half)
    assert [type(reply) for reply in sent([tool.call(effect)])] == [MaybeSent]
    assert len(tool.received()) == 1


@pytest.mark.parametrize(
    ("body", "layer"),
    [
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "unknown"}}, Layer.PROTOCOL),
        ({"jsonrpc": "2.0", "id": 1, "result": {"content": [], "isError": True}}, Layer.TOOL),
        ({"content": [], "isError": True}, Layer.TOOL),
    ],
)
def test_http_200_that_holds_an_error_is_a_tool_error(
    tool: HttpBench, server: ToolServer, body: dict[str, object], layer: Layer
) -> None:
    server.behave(PATH, ok(body))
    [reply] = sent([tool.call()])
    assert reply == Answered(ResultStatus.TOOL_ERROR, body)
    assert isinstance(reply, Answered)
    assert reply.layer is layer


@pytest.mark.parametrize(
    "body",
    [
        {"error": "the field of a tool that is called so"},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "isError": False}},
        {"isError": "true"},
        {"jsonrpc": "1.0", "error": {"code": 1}},
    ],
)
def test_http_200_that_only_looks_like_an_error_is_none(
    tool: HttpBench, server: ToolServer, body: dict[str, object]
) -> None:
    server.behave(PATH, ok(body))
    assert sent([tool.call()]) == [Answered(ResultStatus.OK, body)]
