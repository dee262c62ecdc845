"""Calls of a form that has texts alone: the schema of the tool says what they are, and the accepted bytes stay as they are."""

import json

import pytest

from effects.intent import IntentState
from effects.table import EffectTable
from gateway.errors import DivergesFromTokens
from gateway.turn.advance import advance
from gateway.turn.opening import StreamTerms, open_stream
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from tests.gateway.turn.desk import Desk

SCHEMA = (
    "{type: object, properties: {name: {type: string}, count: {type: integer}, gift: {type: boolean},"
    " lines: {type: array, items: {type: object}}}, required: [name, count], additionalProperties: false}"
)
TOOLS = """
tools:
  order: {{effect: WRITE, writes: ["item:{{name}}"], {schema}rules: [{{when: "count > 1", effect: WRITE}}], upstream: {{http: "http://a/o"}}}}
"""
XML = (
    "<tool_call>\n<function=order>\n<parameter=name>\n7\n</parameter>\n<parameter=count>\n{count}\n</parameter>\n"
    '<parameter=gift>\ntrue\n</parameter>\n<parameter=lines>\n[{{"n": 1}}]\n</parameter>\n</function>\n</tool_call>'
)
TYPED: dict[str, object] = {"name": "7", "count": 3, "gift": True, "lines": [{"n": 1}]}


def table(schema: str | None = SCHEMA, version: int = 1) -> TableInForce:
    said = "" if schema is None else f"schema: {schema}, "
    return TableInForce(version, EffectTable.parse(TOOLS.format(schema=said)))


class XmlDesk(Desk):
    def open(self, source: str = "detected") -> bool:
        unfolding = Unfolding(self.state, self.now)
        new = open_stream(unfolding, StreamTerms(source=source, format="qwen3_coder"))
        advance(unfolding, self.force)
        self._take(unfolding)
        return new


def test_a_right_call_with_a_number_was_refused_for_its_schema() -> None:
    desk = XmlDesk(table())
    desk.draft(XML.format(count=3))
    desk.rule_all()
    intent = desk.intent("order")
    assert intent.state is IntentState.RELEASED
    assert json.loads(intent.arguments_raw or "") == TYPED
    assert desk.state.branches["main"].text == XML.format(count=3)
    [held] = [event for event in desk.log if event.type is EventType.INTENT_HELD]
    assert (held.payload["arguments_built"], held.payload["effect_version"]) == (True, 1)


def test_a_wrong_call_is_refused_still() -> None:
    desk = XmlDesk(table())
    desk.draft(XML.format(count="three"))
    desk.rule_all()
    intent = desk.intent("order")
    assert (intent.state, intent.reason) == (IntentState.REFUSED, "arguments_refused")
    assert json.loads(intent.arguments_raw or "")["count"] == "three"


def test_without_a_schema_values_stay_texts() -> None:
    desk = XmlDesk(table(None))
    desk.draft(XML.format(count=3))
    desk.rule_all()
    assert json.loads(desk.intent("order").arguments_raw or "") == {
        "name": "7",
        "count": "3",
        "gift": "true",
        "lines": '[{"n": 1}]',
    }


def test_a_call_keeps_the_types_that_it_was_held_with() -> None:
    desk = XmlDesk(table())
    desk.draft(XML.format(count=3))
    held = desk.intent("order").arguments_raw
    desk.force = table(None, version=2)
    desk.rule_all()
    assert desk.intent("order").arguments_raw == held


def test_what_is_posted_must_be_what_the_schema_makes_of_the_tokens() -> None:
    desk = XmlDesk(table(), source="posted")
    end = desk.draft(XML.format(count=3))
    with pytest.raises(DivergesFromTokens):
        desk.post("order", {**TYPED, "name": 7}, (0, end))
    desk.post("order", TYPED, (0, end))
    desk.rule_all()
    assert desk.intent("order").state is IntentState.RELEASED
