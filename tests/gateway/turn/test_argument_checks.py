"""Arguments are checked on the accepted bytes before anything is sent; nothing is repaired."""

import json
from typing import Any

import pytest

from effects.arguments import MAX_ARGUMENTS
from effects.intent import BlockState, IntentState
from effects.table import EffectTable
from gateway.errors import DivergesFromTokens, StreamFinished
from gateway.turn.tables import TableInForce
from ledger.state import Intent
from tests.gateway.turn.desk import Desk, spell

SCHEMA = (
    "{type: object, properties: {name: {type: string}, lines: {type: array, items: {type: integer}}},"
    " required: [name], additionalProperties: false}"
)
TOOLS = f"""
tools:
  write: {{effect: WRITE, writes: ["file:{{name}}"], schema: {SCHEMA}, upstream: {{http: "http://a/write"}}}}
  ask: {{effect: WRITE, writes: [], approval: required, schema: {SCHEMA}, upstream: {{http: "http://a/ask"}}}}
  read: {{effect: READ_ONLY, reads: ["file:{{name}}"], schema: {SCHEMA}, upstream: {{http: "http://a/read"}}}}
  free: {{effect: READ_ONLY, reads: [], upstream: {{http: "http://a/free"}}}}
"""


def table(text: str = TOOLS, version: int = 1) -> TableInForce:
    return TableInForce(version, EffectTable.parse(text))


def raw(tool: str, arguments: str) -> str:
    return f'<tool_call>{{"name": "{tool}", "arguments": {arguments}}}</tool_call>'


def refused(desk: Desk, tool: str) -> tuple[str | None, Any]:
    """(reason, detail) of a refused call that was never let go."""
    intent = desk.intent(tool)
    assert intent.state is IntentState.REFUSED, intent
    assert desk.types(intent) == ["intent.held", "intent.refused"]
    [event] = [e for e in desk.log if e.type == "intent.refused"]
    assert event.payload.get("detail") == intent.detail
    return intent.reason, intent.detail


@pytest.mark.parametrize(
    ("arguments", "path", "because"),
    [
        ("{}", "", "lacks 'name'"),  # vllm #56077: a call comes back as "{}"
        (
            '{"command=ls": ""}',
            "",
            "has names that the schema does not know",
        ),  # and with the value in the name
        ('{"name": 7}', "name", 'does not meet type: "string"'),
        ('{"name": "x", "lines": [1, 2, "3"]}', "lines[2]", 'does not meet type: "integer"'),
    ],
)
@pytest.mark.parametrize("tool", ["write", "read", "ask"])
def test_arguments_against_the_schema_are_refused_at_clearing_and_never_sent(
    tool: str, arguments: str, path: str, because: str
) -> None:
    desk = Desk(table())
    end = desk.draft(raw(tool, arguments))
    assert desk.intent(tool).state is IntentState.HELD  # also a read that may speculate
    desk.rule(end, end)
    assert refused(desk, tool) == ("arguments_refused", {"path": path, "because": because})


def test_right_arguments_go_and_a_read_goes_early() -> None:
    desk = Desk(table())
    end = desk.draft(spell("read", name="x") + spell("write", name="y", lines=[1]))
    assert desk.intent("read").state is IntentState.RELEASED
    desk.rule(end, end)
    assert desk.intent("write").state is IntentState.RELEASED


def test_a_rejected_call_with_wrong_arguments_is_voided_and_not_refused() -> None:
    desk = Desk(table())
    end = desk.draft(raw("write", "{}"))
    desk.rule(end, end - 1)
    assert desk.types(desk.intent("write")) == ["intent.held", "intent.voided"]


def test_a_schema_that_comes_later_counts_for_what_is_not_sent() -> None:
    without = TOOLS.replace(f"schema: {SCHEMA}, ", "")
    desk = Desk(table(without))
    end = desk.draft(raw("read", "{}") + raw("write", "{}"))
    read = desk.intent("read")
    assert read.state is IntentState.RELEASED
    desk.force = table(version=2)
    assert desk.claim(read) is None
    assert desk.intent("read").state is IntentState.HELD
    desk.rule(end, end)
    for tool in ("read", "write"):
        assert (desk.intent(tool).state, desk.intent(tool).reason) == (
            IntentState.REFUSED,
            "arguments_refused",
        )


def test_arguments_that_are_too_long_are_refused_without_being_read() -> None:
    desk = Desk(table(), size=100_000)
    end = desk.draft(raw("free", json.dumps({"text": "x" * MAX_ARGUMENTS})))
    assert desk.intent("free").state is IntentState.HELD
    desk.rule(end, end)
    reason, detail = refused(desk, "free")
    assert (reason, detail["path"]) == ("arguments_refused", "")
    assert "longer than" in detail["because"]


STRANGE = {
    '{"name": "a", "name": "b"}': "json_duplicate_name",
    '{"name": {"a": 1, "a": 1}}': "json_duplicate_name",
    '{"name": NaN}': "json_not_finite",
    '{"name": -Infinity}': "json_not_finite",
    '{"name": 1e400}': "json_not_finite",
    '{"name": [-1e999]}': "json_not_finite",
    '{"name": 9007199254740992}': "json_integer_range",
    '{"name": -9007199254740993}': "json_integer_range",
    '{"name": "\\ud800"}': "json_surrogate",
    '{"\\udfff": 1}': "json_surrogate",
    '{"name": ' + "[" * 80 + "]" * 80 + "}": "json_too_deep",
    '{"name": tru}': "json_syntax",
    '["name"]': None,
}


@pytest.mark.parametrize("tool", ["write", "free"])
@pytest.mark.parametrize("arguments", STRANGE)
def test_what_two_readers_could_read_differently_is_refused(tool: str, arguments: str) -> None:
    desk = Desk(table())
    end = desk.draft(raw(tool, arguments))
    [intent] = desk.state.intents.values()
    assert intent.state is IntentState.HELD
    desk.rule(end, end)
    [intent] = desk.state.intents.values()
    assert intent.state is IntentState.REFUSED
    assert desk.types(intent) == ["intent.held", "intent.refused"]
    assert STRANGE[arguments] is None or STRANGE[arguments] in (intent.reason or ""), intent.reason


@pytest.mark.parametrize("arguments", STRANGE)
def test_posting_what_a_lenient_reader_made_of_it_is_refused(arguments: str) -> None:
    desk = Desk(table(), source="posted")
    end = desk.draft(raw("free", arguments))
    with pytest.raises(DivergesFromTokens):
        desk.post("free", {"name": "b"}, (0, end))
    assert not desk.state.intents


@pytest.mark.parametrize(
    "number", ["9007199254740991", "-9007199254740991", "1e308", "0.1", "-0.0", "1e-400", "1E2"]
)
def test_numbers_that_every_reader_holds_are_sent_as_they_were_accepted(number: str) -> None:
    desk = Desk(table())
    desk.accept(raw("free", f'{{"name":  {number} }}'))
    sent = desk.claim(desk.intent("free"))
    assert sent is not None
    assert sent.arguments_raw == f'{{"name":  {number} }}'


# --- a stream that ends inside a block

BODY = '{"name": "write", "arguments": {"name": "a", "lines": [1, 2]}}'
CUTS = {
    "inside a string": '<tool_call>{"name": "write", "arguments": {"name": "a',
    "inside a list": '<tool_call>{"name": "write", "arguments": {"name": "a", "lines": [1, 2',
    "arguments are whole": BODY[:-1].join(["<tool_call>", ""]),
    "the object is whole": f"<tool_call>{BODY}",
    "inside the closing delimiter": f"<tool_call>{BODY}</tool_cal",
}


@pytest.mark.parametrize("reason", ["stop", "length", "error", "cancelled"])
@pytest.mark.parametrize("cut", CUTS)
def test_a_stream_that_ends_inside_a_block_voids_it_whatever_reason_it_claims(cut: str, reason: str) -> None:
    """cline #13001 (a repaired half), DSpark #55 (a truncated call claimed as whole), vllm #56077."""
    desk = Desk(table())
    desk.accept("So: " + CUTS[cut])
    desk.finish(reason)
    assert not desk.state.intents
    [voided] = [e for e in desk.log if e.type == "block.voided"]
    end = desk.state.branches["main"].head
    assert voided.payload == {"span": [1, end], "round": 0, "intents": [], "because": "stream_ended_inside"}
    with pytest.raises(StreamFinished):
        desk.accept("</tool_call>")


@pytest.mark.parametrize("reason", ["stop", "length", "error", "cancelled"])
@pytest.mark.parametrize("cut", CUTS)
def test_half_a_block_cannot_be_posted_however_the_stream_ended(cut: str, reason: str) -> None:
    desk = Desk(table(), source="posted")
    desk.accept(CUTS[cut])
    end = desk.state.branches["main"].head
    with pytest.raises(DivergesFromTokens):
        desk.post("write", {"name": "a", "lines": [1, 2]}, (0, end))
    desk.finish(reason)
    with pytest.raises((DivergesFromTokens, StreamFinished)):
        desk.post("write", {"name": "a", "lines": [1, 2]}, (0, end))
    assert not desk.state.intents


@pytest.mark.parametrize("reason", ["stop", "length", "error", "cancelled"])
def test_a_whole_block_that_nobody_ruled_on_is_voided_at_the_end(reason: str) -> None:
    desk = Desk(table())
    end = desk.draft(spell("write", name="a"))
    desk.rule(end - 1, end - 1)
    desk.finish(reason)
    write: Intent = desk.intent("write")
    assert (write.block, write.state) == (BlockState.VOIDED, IntentState.VOIDED)
    assert desk.types(write) == ["intent.held", "intent.voided"]
    assert [e.payload["because"] for e in desk.log if e.type == "block.voided"] == ["stream_ended"]
