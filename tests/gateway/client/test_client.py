"""The client against a real gateway, dispatcher and tool server; every test with both kinds of it."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import subprocess
import sys
from typing import Any

import pytest

from gateway import client
from gateway.client import (
    AnswerTooLarge,
    AsyncGate,
    AsyncTurn,
    CallInDoubt,
    CallRefused,
    ClientError,
    Diverged,
    Gate,
    GatewayRefused,
    GatewayUnreachable,
    ToolFailed,
    Turn,
    TurnNotEntered,
    answer_of,
)
from tests.gateway.client.kinds import Asyncio, Kind, Plain
from tests.gateway.desk import Desk
from tests.gateway.toolserver import ok, reset, status

_numbers = itertools.count()


@pytest.fixture(params=[Plain(), Asyncio()], ids=["blocking", "asyncio"])
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


@pytest.fixture
def key() -> str:
    return f"turn-{next(_numbers)}"


@pytest.fixture(autouse=True)
def table(desk: Desk) -> None:
    desk.apply(
        look={"effect": "READ_ONLY", "reads": ["thing:{name}"]},
        change={"effect": "WRITE", "writes": ["thing:{name}"], "timeout": "500ms"},
    )
    desk.tools.behave("/look", ok({"colour": "red"}))
    desk.tools.behave("/change", ok({"done": 1}))


def block(tool: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': tool, 'arguments': arguments})}</tool_call>"


def test_a_turn_calls_tools_and_ends(desk, kind, key):
    with kind.turn(desk.front.url, key) as turn:
        assert turn.call("look", {"name": "a"}) == {"colour": "red"}
        assert turn.call("change", {"name": "a"}) == {"done": 1}
    shown = desk.front.client.get(f"/v1/streams/{key}").json()
    assert shown["finished"] == "stop"
    assert [i["final"] for i in shown["intents"]] == [True, True]


def test_a_turn_that_was_interrupted_is_answered_from_the_ledger_and_goes_no_further(desk, kind, key):
    sent = len(desk.tools.received("/change"))

    def interrupted() -> None:
        with kind.turn(desk.front.url, key) as turn:
            turn.call("change", {"name": "a"})
            raise KeyboardInterrupt

    def again() -> None:
        with kind.turn(desk.front.url, key) as turn:
            assert turn.call("change", {"name": "a"}) == {"done": 1}
            turn.call("look", {"name": "a"})

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert desk.front.client.get(f"/v1/streams/{key}").json()["finished"] == "cancelled"
    with pytest.raises(GatewayRefused) as refused:
        again()
    assert refused.value.code == "stream_finished"
    assert len(desk.tools.received("/change")) == sent + 1


def test_the_next_runtime_goes_on_and_fences_the_older_one(desk, kind, key):
    sent = len(desk.tools.received("/change"))

    def two_runtimes() -> None:
        with kind.turn(desk.front.url, key) as older:
            older.call("change", {"name": "a"})
            with kind.turn(desk.front.url, key) as newer:
                assert newer.text == older.look().branches["main"].text
                assert newer.call("change", {"name": "a"}) == {"done": 1}
                assert newer.call("look", {"name": "a"}) == {"colour": "red"}
                older.call("look", {"name": "b"})

    with pytest.raises(GatewayRefused) as refused:
        two_runtimes()
    assert refused.value.code == "stale_writer"
    assert len(desk.tools.received("/change")) == sent + 1


@pytest.mark.parametrize(("tool", "name", "field"), [("change", "b", "arguments"), ("look", "a", "tool")])
def test_a_second_attempt_that_does_something_else_needs_a_fork(desk, kind, key, tool, name, field):
    with kind.turn(desk.front.url, key) as first:
        first.call("change", {"name": "a"})

    def other() -> None:
        with kind.turn(desk.front.url, key) as second:
            second.call(tool, {"name": name})

    with pytest.raises(Diverged) as diverged:
        other()
    assert diverged.value.field == field


def test_a_read_runs_while_it_is_undecided_and_a_write_waits(desk, kind, key):
    reads, writes = len(desk.tools.received("/look")), len(desk.tools.received("/change"))
    with kind.turn(desk.front.url, key) as turn:
        (read,) = turn.draft([block("look", name="a")])
        (write,) = turn.draft([block("change", name="b")])
        assert (read.state, write.state) == ("released", "held")
        desk.tools.await_received("/look", reads + 1)
        assert turn.wait(read.intent_id, timeout=0).result is None
        turn.rule(2)
        assert answer_of(turn.wait(read.intent_id)) == {"colour": "red"}
        assert answer_of(turn.wait(write.intent_id)) == {"done": 1}
    assert len(desk.tools.received("/change")) == writes + 1


def test_a_rejected_call_never_happens(desk, kind, key):
    sent = len(desk.tools.received("/change"))
    with kind.turn(desk.front.url, key) as turn:
        turn.draft(["so ", block("change", name="a")])
        turn.rule(1, token={"text": "no"})
        assert (turn.head, turn.drafted_end, turn.round) == (2, 2, 1)
        assert [i.block for i in turn.intents.values()] == ["voided"]
    assert len(desk.tools.received("/change")) == sent


def test_a_posted_call_is_held_to_what_the_tokens_spell(desk, kind, key):
    with kind.turn(desk.front.url, key, source="posted") as turn:
        turn.accept([block("change", name="a")])
        with pytest.raises(GatewayRefused) as refused:
            turn.post("change", {"name": "b"}, (0, 1))
        assert refused.value.code == "diverges_from_tokens"
        posted = turn.post("change", {"name": "a"}, (0, 1), call_id="c1")
        assert answer_of(turn.wait(posted.intent_id)) == {"done": 1}
        with pytest.raises(ClientError):
            turn.call("look", {"name": "a"})


def test_what_became_of_a_call_is_told_apart(desk, kind, key):
    desk.tools.behave("/change", status(404, b'{"error": "none"}'), reset)
    with kind.turn(desk.front.url, key) as turn:
        with pytest.raises(ToolFailed) as failed:
            turn.call("change", {"name": "a"})
        assert failed.value.content == {"error": "none"}
        with pytest.raises(CallRefused) as refused:
            turn.call("nothing", {})
        assert refused.value.intent.reason == "unknown_tool"
        with pytest.raises(CallInDoubt):
            turn.call("change", {"name": "b"})


def test_an_answer_that_was_cut_is_no_answer(desk, kind, key):
    desk.apply(big={"effect": "READ_ONLY", "reads": [], "max_result": 64})
    desk.tools.behave("/big", ok({"text": "x" * 1000}))
    with kind.turn(desk.front.url, key) as turn, pytest.raises(AnswerTooLarge):
        turn.call("big", {})


def test_an_exception_ends_the_turn_as_an_error(desk, kind, key):
    with pytest.raises(RuntimeError, match="mine"), kind.turn(desk.front.url, key):
        raise RuntimeError("mine")
    assert desk.front.client.get(f"/v1/streams/{key}").json()["finished"] == "error"


def test_nobody_there_is_an_error_with_a_code(kind):
    with pytest.raises(GatewayUnreachable) as nobody, kind.turn("http://127.0.0.1:9"):
        pass
    assert nobody.value.code == "gateway_unreachable"


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("call", ("look", {"name": "a"})),
        ("draft", (["x"],)),
        ("rule", (0,)),
        ("accept", (["x"],)),
        ("write", ([{"type": "stream.finished", "reason": "stop"}],)),
        ("post", ("look", {"name": "a"}, (0, 1))),
        ("wait", ("int_0",)),
        ("look", ()),
        ("finish", ()),
    ],
)
def test_a_turn_that_was_not_entered_was_told_of_a_bad_writer_epoch(method, arguments):
    plain, other = Gate("http://127.0.0.1:9", patience=0), AsyncGate("http://127.0.0.1:9", patience=0)

    async def awaited() -> None:
        async with other:
            await getattr(other.turn(), method)(*arguments)

    with pytest.raises(TurnNotEntered, match=r"with gate\.turn\(") as blocking, plain:
        getattr(plain.turn(), method)(*arguments)
    with pytest.raises(TurnNotEntered):
        asyncio.run(awaited())
    assert blocking.value.code == "turn_not_entered"


@pytest.mark.parametrize("gate", [Gate, AsyncGate])
@pytest.mark.parametrize("text", ["cg_\u2026", "cg_\r\nX-Other: 1"])
def test_a_key_that_is_no_header_was_an_error_of_a_library(gate: type[Gate | AsyncGate], text: str) -> None:
    with pytest.raises(ClientError, match="printable ASCII"):
        gate("http://127.0.0.1:1", key=text)


def test_arguments_that_are_no_json_are_an_error_of_the_caller(desk, kind, key):
    with kind.turn(desk.front.url, key) as turn, pytest.raises(ClientError):
        turn.call("look", {"name": float("nan")})


@pytest.mark.parametrize(("plain", "other"), [(Gate, AsyncGate), (Turn, AsyncTurn)])
def test_both_clients_are_the_same(plain, other):
    def public(of: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(member).parameters)
            for name, member in inspect.getmembers(of, inspect.isfunction)
            if not name.startswith("_")
        }

    async_names = {
        name.removeprefix("a") if name == "aclose" else name: p for name, p in public(other).items()
    }
    assert public(plain) == async_names


def test_all_that_is_promised_can_be_imported():
    assert all(hasattr(client, name) for name in client.__all__)
    assert list(client.__all__) == sorted(client.__all__)


def test_the_client_needs_neither_torch_nor_a_database():
    script = (
        "import sys, gateway.client\n"
        "heavy = {'torch', 'transformers', 'sqlalchemy', 'psycopg', 'alembic', 'fastapi', 'mcp', 'ledger.append'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    # Isolated: the tests' plain mode loads the driver into every process that looks at PYTHONPATH.
    command = [sys.executable, "-I", "-c", script]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_calls_awaited_together_get_their_own_answers(desk):
    async def run() -> list[object]:
        async with AsyncGate(desk.front.url) as gate, gate.turn() as turn:
            return await asyncio.gather(turn.call("look", {"name": "a"}), turn.call("change", {"name": "b"}))

    assert asyncio.run(run()) == [{"colour": "red"}, {"done": 1}]
