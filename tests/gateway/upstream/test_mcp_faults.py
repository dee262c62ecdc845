"""MCP servers that do not do as they should: what was sent, and what is known of it."""

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from effects.classes import EffectClass
from effects.intent import ResultStatus
from effects.secrets import Reference
from effects.upstream import Server, Upstream
from gateway.upstream.mcp.adapter import McpUpstream
from gateway.upstream.overheard import MOST_LINES
from gateway.upstream.port import Answered, Layer, MaybeSent, NotSent, Reply
from tests.gateway.toolserver import eventually
from tests.gateway.upstream.calls import assignment
from tests.gateway.upstream.mcp_bench import TOOL, McpBench
from tests.gateway.upstream.running import Running
from tests.gateway.upstream.suite import EFFECTS

WRITE, IDEMPOTENT, READ = EffectClass.WRITE, EffectClass.IDEMPOTENT, EffectClass.READ_ONLY


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, McpBench]]:
    benches = {
        name: McpBench(tmp_path_factory.mktemp("peer"), name.split()[0], legacy="legacy" in name)
        for name in ("stdio", "http", "stdio legacy", "http legacy")
    }
    yield benches
    for bench in benches.values():
        bench.stop()


def of(shared: dict[str, McpBench], name: str) -> McpBench:
    shared[name].renew()
    return shared[name]


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with Running(McpUpstream()) as runs:
        yield runs


@pytest.mark.parametrize("wire", ["stdio", "http", "stdio legacy", "http legacy"])
def test_progress_does_not_put_off_the_timeout(
    shared: dict[str, McpBench], running: Running, wire: str
) -> None:
    bench = of(shared, wire)
    assert isinstance(running.send(bench.call()), Answered)
    bench.does("chatter")
    assert running.send(bench.call(), timeout=0.5) == MaybeSent("timeout")
    assert len(bench.received()) == 2


@pytest.mark.parametrize("wire", ["stdio legacy", "http legacy"])
def test_a_server_that_asks_something_is_refused(
    shared: dict[str, McpBench], running: Running, wire: str
) -> None:
    bench = of(shared, wire)
    bench.does("ask")
    reply = running.send(bench.call())
    assert isinstance(reply, Answered)
    assert bench.said(reply.content) in ({"refused": -32600}, {"refused": -32601})


@pytest.mark.parametrize("code", [301, 302, 307, 308, 408, 500, 502, 503])
def test_what_says_neither_yes_nor_no_is_unclear_and_a_redirect_sends_the_call_no_second_time(
    shared: dict[str, McpBench], running: Running, code: int
) -> None:
    bench = of(shared, "http")
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}
    location = {"location": str(bench.server.url)}
    bench.does("status", code=code, body=json.dumps(error), headers=location)
    assert running.send(bench.call()) == MaybeSent(f"http_{code}")
    assert len(bench.received()) == 1


@pytest.mark.parametrize(("body", "layer"), [("no", Layer.TRANSPORT), ("error", Layer.PROTOCOL)])
def test_http_4xx_is_a_refusal_and_says_in_which_layer(
    shared: dict[str, McpBench], running: Running, body: str, layer: Layer
) -> None:
    bench = of(shared, "http")
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}
    bench.does("status", code=400, body=json.dumps(error) if body == "error" else body)
    reply = running.send(bench.call())
    assert isinstance(reply, Answered)
    assert (reply.status, reply.layer) == (ResultStatus.TOOL_ERROR, layer)


def test_202_promises_an_answer_that_never_comes(shared: dict[str, McpBench], running: Running) -> None:
    bench = of(shared, "http")
    bench.does("status", code=202, body="")
    assert running.send(bench.call()) == MaybeSent("no_answer")


def test_one_call_whose_connection_breaks_takes_no_other_call_with_it(
    shared: dict[str, McpBench], running: Running
) -> None:
    bench = of(shared, "http")
    bench.does_hold({"n": 1})
    waiting = running.start(bench.call())
    eventually(bench.received)
    nobody = bench.server.model_copy(update={"url": "http://127.0.0.1:9/mcp"})
    assert isinstance(running.send(bench.call(server=nobody, upstream=Upstream(mcp="nobody"))), NotSent)
    bench.does("status", code=500)
    assert running.send(bench.call()) == MaybeSent("http_500")
    bench.release()
    reply = waiting.result(20)
    assert isinstance(reply, Answered)


@pytest.mark.parametrize("effect", EFFECTS)
def test_a_session_that_the_server_forgot_is_not_taken_for_an_answer_that_may_be_repeated_of_a_write(
    shared: dict[str, McpBench], running: Running, effect: EffectClass
) -> None:
    bench = of(shared, "http legacy")
    assert isinstance(running.send(bench.call()), Answered)
    bench.stop()
    bench.start()
    reply = running.send(bench.call(effect))
    if effect is READ:
        assert reply == MaybeSent("session_expired")
    else:
        assert isinstance(reply, Answered)
        assert (reply.status, reply.layer) == (ResultStatus.TOOL_ERROR, Layer.TRANSPORT)
    assert bench.finished() == [{}]
    assert isinstance(running.send(bench.call(effect)), Answered)


def test_an_idle_session_is_tried_before_a_call_is_sent_in_it(shared: dict[str, McpBench]) -> None:
    bench = of(shared, "http legacy")
    with Running(McpUpstream(recheck=0)) as running:
        assert isinstance(running.send(bench.call()), Answered)
        bench.stop()
        bench.start()
        reply = running.send(bench.call())
        assert isinstance(reply, Answered)
        assert reply.status is ResultStatus.OK
    assert bench.finished() == [{}, {}]


def test_all_calls_in_flight_are_unclear_when_the_process_ends_and_the_next_starts_another(
    shared: dict[str, McpBench], running: Running
) -> None:
    bench = of(shared, "stdio")
    assert isinstance(running.send(bench.call()), Answered)
    bench.does_hold({})
    waiting = [running.start(bench.call()) for _ in range(3)]
    eventually(lambda: len(bench.received()) == 4)
    bench.does_die()
    running.send(bench.call())
    assert [reply.result(20) for reply in waiting] == [MaybeSent("connection_lost")] * 3
    bench.does_answer({})
    assert isinstance(running.send(bench.call()), Answered)
    assert len({line["pid"] for line in bench.log()}) == 2


@pytest.mark.parametrize("wire", ["stdio", "http", "stdio legacy", "http legacy"])
def test_an_error_that_a_server_gives_the_code_of_a_closed_connection_is_its_answer(
    shared: dict[str, McpBench], running: Running, wire: str
) -> None:
    bench = of(shared, wire)
    bench.does("protocol", code=-32000)
    reply = running.send(bench.call())
    assert isinstance(reply, Answered)
    assert (reply.status, reply.layer) == (ResultStatus.TOOL_ERROR, Layer.PROTOCOL)
    assert isinstance(reply.content, dict)
    assert reply.content["error"] == {"code": -32000, "message": "no such thing"}


@pytest.mark.parametrize("wire", ["stdio", "http", "stdio legacy", "http legacy"])
def test_a_server_that_says_that_it_broke_a_call_off_leaves_it_unclear(
    shared: dict[str, McpBench], running: Running, wire: str
) -> None:
    bench = of(shared, wire)
    bench.does("protocol", code=-32000, message="Connection closed")
    assert running.send(bench.call()) == MaybeSent("connection_lost")


def test_a_stream_that_ends_without_an_answer_leaves_the_call_unclear(
    shared: dict[str, McpBench], running: Running
) -> None:
    bench = of(shared, "http")
    bench.does("status", body=": nothing\n\n", headers={"content-type": "text/event-stream"})
    assert running.send(bench.call()) == MaybeSent("connection_lost")


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("import sys; sys.exit(3)", "handshake_failed"),
        ("import sys; print('hello', flush=True); sys.stdin.read()", "open_timeout"),
        ("import sys; sys.stdin.read()", "open_timeout"),
    ],
)
def test_a_server_that_opens_no_session_has_no_call(program: str, code: str) -> None:
    call = assignment(server=Server(command=(sys.executable, "-c", program)), upstream=Upstream(mcp="odd"))
    with Running(McpUpstream(open_timeout=1.0)) as running:
        assert running.send(call) == NotSent(code)


@pytest.mark.parametrize("wire", ["stdio", "http"])
def test_a_result_that_the_gateway_would_not_hold_happened(
    shared: dict[str, McpBench], wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("lines", "web"):
        monkeypatch.setattr(f"gateway.upstream.mcp.{module}.LARGEST_MESSAGE", 50_000)
    monkeypatch.setattr("gateway.upstream.mcp.lines.Lines.__init__.__defaults__", (50_000,))
    bench = of(shared, wire)
    bench.does_answer_bytes(200_000)
    with Running(McpUpstream()) as running:
        reply = running.send(bench.call())
        assert isinstance(reply, Answered)
        assert reply.status is ResultStatus.OK
        assert isinstance(reply.content, dict)
        assert reply.content["because"] == "result_too_large"
        bench.does_answer({"n": 1})
        again = running.send(bench.call())
        assert isinstance(again, Answered)
        assert bench.said(again.content) == {"n": 1}
    assert len(bench.received()) == 2


def test_a_call_for_a_tool_under_another_name_goes_to_the_name_at_the_server(
    shared: dict[str, McpBench], running: Running
) -> None:
    bench = of(shared, "stdio")
    upstream = Upstream(mcp="peer", tool="tool")
    assert isinstance(running.send(bench.call(tool="peer_tool", upstream=upstream)), Answered)
    assert bench.log()[-1]["message"]["params"]["name"] == "tool"


def test_a_table_that_names_another_server_lets_the_calls_in_flight_end(
    tmp_path: Path, shared: dict[str, McpBench], running: Running
) -> None:
    bench, other = of(shared, "stdio"), McpBench(tmp_path, "stdio")
    bench.does_hold({"n": 1})
    waiting = running.start(bench.call())
    eventually(bench.received)
    assert isinstance(running.send(other.call()), Answered)
    bench.release()
    reply: Reply = waiting.result(20)
    assert isinstance(reply, Answered)
    assert len(other.received()) == 1


def test_a_result_that_breaks_the_tools_own_output_schema_is_kept_as_it_is(
    shared: dict[str, McpBench], running: Running
) -> None:
    bench = of(shared, "http")
    bench.offers(TOOL | {"outputSchema": {"type": "object", "required": ["never"]}})
    bench.does_answer({"n": 1})
    fresh = bench.call(upstream=Upstream(mcp="schema"))
    reply = running.send(fresh)
    assert isinstance(reply, Answered)
    assert bench.said(reply.content) == {"n": 1}


def test_a_started_server_gets_the_variables_of_the_table_and_repeats_none_of_its_secrets(
    shared: dict[str, McpBench], monkeypatch: pytest.MonkeyPatch, running: Running
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "not-for-the-ledger")
    monkeypatch.setenv("COMMITGATE_HOME", "/ours")
    bench = of(shared, "stdio")
    bench.does("tell")
    server = bench.server.model_copy(update={"env": {"PEER_TOKEN": Reference(env="SHOP_TOKEN")}})
    reply = running.send(bench.call(server=server))
    assert isinstance(reply, Answered)
    assert bench.said(reply.content) == {"token": "[secret]", "home": None}


def test_what_a_server_says_on_stderr_is_logged_without_secrets_and_never_blocks_it(
    shared: dict[str, McpBench], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "not-for-the-log")
    bench = of(shared, "stdio")
    bench.does("blurt", lines=2000, content={"n": 1})
    server = bench.server.model_copy(update={"env": {"PEER_TOKEN": Reference(env="SHOP_TOKEN")}})
    with capture_logs() as lines, Running(McpUpstream()) as running:
        reply = running.send(bench.call(server=server))
        assert isinstance(reply, Answered)
        assert bench.said(reply.content) == {"n": 1}
        eventually(lambda: [line for line in lines if line["event"] == "mcp_server_says_more"])
    said = [line for line in lines if line["event"] == "mcp_server_said"]
    assert [line["line"] for line in said][:2] == ["I know [secret]", "x" * 1000]
    assert {line["server"] for line in said} == {"peer"}
    assert len(said) == MOST_LINES
    assert "not-for-the-log" not in str(lines)
    assert "not-for-the-log" not in "".join(capfd.readouterr())


SAYS_ITS_SECRET = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        error = {"code": -32000, "message": "x" * 230 + os.environ["PEER_TOKEN"]}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
"""


@pytest.mark.parametrize("secret", ["not-for-the-ledger", "not-for-the-ledger" * 30])
def test_a_handshake_that_fails_tells_no_secret(
    monkeypatch: pytest.MonkeyPatch, running: Running, secret: str
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", secret)
    command = (sys.executable, "-c", SAYS_ITS_SECRET)
    server = Server(command=command, env={"PEER_TOKEN": Reference(env="SHOP_TOKEN")})
    reply = running.send(assignment(effect=WRITE, server=server, upstream=Upstream(mcp="peer")))
    assert isinstance(reply, NotSent)
    assert reply.because == "handshake_failed"
    assert "[secret]" in str(reply.detail)
    assert "not-for" not in str(reply.detail)


def test_a_server_with_a_url_gets_the_headers_of_the_table(
    shared: dict[str, McpBench], monkeypatch: pytest.MonkeyPatch, running: Running
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "not-for-the-ledger")
    bench = of(shared, "http")
    bench.does_answer({"n": "not-for-the-ledger"})
    headers = {"Authorization": Reference(env="SHOP_TOKEN", prefix="Bearer ")}
    reply = running.send(bench.call(server=bench.server.model_copy(update={"headers": headers})))
    assert bench.log()[-1]["headers"]["authorization"] == "Bearer not-for-the-ledger"
    assert isinstance(reply, Answered)
    assert bench.said(reply.content) == {"n": "[secret]"}
    bench.does("status", code=403, body='{"you sent": "not-for-the-ledger"}')
    refused = running.send(bench.call(server=bench.server.model_copy(update={"headers": headers})))
    assert isinstance(refused, Answered)
    assert "[secret]" in json.dumps(refused.content)
    assert "not-for-the-ledger" not in json.dumps(refused.content)


@pytest.mark.parametrize("code", [200, 403])
def test_what_is_kept_in_base64_holds_no_secret_either(
    shared: dict[str, McpBench], monkeypatch: pytest.MonkeyPatch, running: Running, code: int
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "not-for-the-ledger")
    bench = of(shared, "http")
    bench.does("status", code=code, body="not-for-the-ledger" + "x" * 2000)
    headers = {"Authorization": Reference(env="SHOP_TOKEN", prefix="Bearer ")}
    server = bench.server.model_copy(update={"headers": headers})
    reply = running.send(bench.call(server=server, max_result=1024))
    assert isinstance(reply, Answered)
    assert "not-for" not in "".join(_unpacked(reply.content))
    assert "[secret]" in "".join(_unpacked(reply.content))


def _unpacked(content: object) -> list[str]:
    if isinstance(content, dict):
        coded = content.get("raw_base64")
        return [base64.b64decode(coded).decode()] if coded else [json.dumps(content)]
    return [json.dumps(content)]


@pytest.mark.parametrize("wire", ["stdio", "http"])
def test_a_secret_that_is_not_there_sends_nothing(
    shared: dict[str, McpBench], running: Running, wire: str
) -> None:
    bench = of(shared, wire)
    nowhere = {"X": Reference(env="NO_SUCH_VARIABLE")}
    server = bench.server.model_copy(update={"env" if wire == "stdio" else "headers": nowhere})
    reply = running.send(bench.call(server=server))
    assert reply == NotSent("secret_missing")
    assert isinstance(reply, NotSent)
    assert reply.lasting
    assert bench.received() == []


def test_a_server_at_an_address_that_is_refused_is_not_asked(running: Running) -> None:
    server = Server.model_construct(url="http://169.254.169.254/mcp", command=None, pins=None)
    reply = running.send(assignment(server=server, upstream=Upstream(mcp="metadata")))
    assert reply == NotSent("address_refused")
