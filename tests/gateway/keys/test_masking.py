"""What the table masks is on no surface that somebody sees who only looks on, and on all for those who work."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from effects.intent import ResultStatus
from effects.strict_json import parse
from gateway.principal import Role
from gateway.turn.dispatching import Outcome, settle
from gateway.turn.unfolding import Unfolding
from gateway.wire.views import IntentView
from gateway.wiring import utc_now
from ledger.change import Change, CloseLicence
from ledger.state import StreamState
from tests.gateway.http.front import block, cut
from tests.gateway.http.listening import listening
from tests.gateway.keys.closed import Closed, closed_front
from tests.postgres import TestDatabase

MARK = "4111222233334444"
OUTSIDE = "untouched-order"
TOOL: dict[str, Any] = {
    "effect": "WRITE",
    "writes": ["card:{card_number}"],
    "upstream": {"http": "http://127.0.0.1:9/pay"},
}
TABLE = {"tools": {"pay": {**TOOL, "mask": ["card_number", "$.receipt.*.holder"]}, "plain": TOOL}}


@pytest.fixture(scope="module")
def closed(module_database: TestDatabase) -> Iterator[Closed]:
    with closed_front(module_database) as made:
        assert made.front.client.post("/v1/effects", json=TABLE).status_code == 200
        yield made


@pytest.fixture(scope="module")
def paid(closed: Closed) -> tuple[str, str]:
    """A stream with a settled call and one in doubt, of a tool that is misspelled, and of one that does not parse."""
    front = closed.front
    writer = front.open("paid", source="detected")
    arguments = {"card_number": MARK, "order": OUTSIDE}
    writer.draft("your card " + MARK)
    writer.rule(1)
    settled = writer.accept(block("pay", **arguments))["intents"][0]["intent_id"]
    front.dispatch("paid", settled)

    def decide(state: StreamState) -> Change:
        unfolding = Unfolding(state, utc_now())
        content = {
            "order": OUTSIDE,
            "receipt": [{"holder": MARK}],
            "card_number": MARK,
            # As an MCP answer repeats it, and a tool that says what it was sent.
            "content": [{"type": "text", "text": json.dumps({"card_number": MARK, "order": OUTSIDE})}],
            "echo": f"paid with {MARK}",
        }
        outcome = Outcome(ResultStatus.OK, content)
        assert settle(unfolding, front.services.tables.current("default"), settled, 1, outcome)
        return Change(unfolding.events, (CloseLicence(intent_id=settled, attempt=1, epoch=1),))

    front.ledger.append("default", "paid", decide)
    writer.accept(block("pays", **arguments))
    writer.accept("<tool_call>{" + MARK + "</tool_call>")
    doubt = front.open("doubt", source="detected").accept(block("pay", **arguments))["intents"][0][
        "intent_id"
    ]
    front.dispatch("doubt", doubt)
    front.lose("doubt", doubt)
    front.seal()
    return settled, doubt


Look = Callable[[httpx2.Client, tuple[str, str]], str]

SURFACES: dict[str, Look] = {
    "stream": lambda c, _: c.get("/v1/streams/paid?ids=true").text,
    "intent": lambda c, paid: c.get(f"/v1/streams/paid/intents/{paid[0]}").text,
    "provisional": lambda c, paid: c.get(f"/v1/streams/paid/intents/{paid[0]}?provisional=true").text,
    "events": lambda c, _: c.get("/v1/streams/paid/events?limit=1000").text,
    "feed": lambda c, _: c.get("/v1/ledger/events?limit=1000").text,
    "doubts": lambda c, _: c.get("/v1/doubts").text,
    "live": lambda c, _: _live(c),
}


def _live(client: httpx2.Client) -> str:
    with listening(client, "/v1/streams/doubt") as heard:
        found = []
        while True:
            event = heard.next()
            assert event is not None
            found.append(event[1])
            if event[1]["type"] == "dispatch.in_doubt":
                return json.dumps(found)


@pytest.mark.parametrize("surface", SURFACES)
def test_an_auditor_sees_what_is_not_masked(closed: Closed, paid: tuple[str, str], surface: str) -> None:
    seen = SURFACES[surface](closed.client(Role.AUDITOR), paid)
    assert MARK not in seen
    assert "[masked]" in seen
    assert OUTSIDE in seen


@pytest.mark.parametrize("surface", SURFACES)
def test_an_operator_sees_all_of_it(closed: Closed, paid: tuple[str, str], surface: str) -> None:
    """The negative control: it is there to be seen."""
    assert MARK in SURFACES[surface](closed.client(Role.AUDITOR, Role.OPERATOR), paid).replace(
        '"}, {"text": "', ""
    )


def test_no_token_gives_away_what_the_text_does_not(closed: Closed, paid: tuple[str, str]) -> None:
    events = closed.client(Role.AUDITOR).get("/v1/streams/paid/events?limit=1000").json()["events"]
    texts = {
        token["text"] for e in events for token in e.get("tokens", []) if isinstance(e.get("tokens"), list)
    }
    assert texts == {"[masked]"}
    assert not any("id" in token for e in events for token in e.get("tokens", []))


def test_a_runtime_sees_its_answer(closed: Closed, paid: tuple[str, str]) -> None:
    view = closed.client(Role.RUNTIME).get(f"/v1/streams/paid/intents/{paid[0]}").json()
    assert view["result"]["content"]["card_number"] == MARK
    assert view["arguments"]["card_number"] == MARK


def test_digests_that_could_be_tried_out_are_not_shown(closed: Closed, paid: tuple[str, str]) -> None:
    view = closed.client(Role.AUDITOR).get(f"/v1/streams/paid/intents/{paid[0]}").json()
    assert view["arguments"] == {"card_number": "[masked]", "order": OUTSIDE}
    assert (view["arguments_digest"], view["idempotency_key"]) == (None, None)
    assert view["footprint"]["writes"] == ["[masked]"]
    held = closed.client(Role.AUDITOR).get("/v1/streams/paid/events?limit=1000").json()["events"]
    raw = [parse(e["arguments_raw"]) for e in held if e["type"] == "intent.held" and e["tool"] == "pay"]
    assert raw == [{"card_number": "[masked]", "order": OUTSIDE}]


def test_a_text_block_said_to_auditors_what_its_structured_content_hid(
    closed: Closed, paid: tuple[str, str]
) -> None:
    view = closed.client(Role.AUDITOR).get(f"/v1/streams/paid/intents/{paid[0]}").json()
    told = view["result"]["content"]
    assert json.loads(told["content"][0]["text"]) == {"card_number": "[masked]", "order": OUTSIDE}
    assert told["echo"] == "paid with [masked]"
    events = closed.client(Role.AUDITOR).get("/v1/streams/paid/events?limit=1000").json()["events"]
    [settled] = [e["content"] for e in events if e["type"] == "dispatch.settled"]
    assert settled == told


def test_the_callers_name_of_a_call_said_to_auditors_what_its_arguments_hid(
    closed: Closed, paid: tuple[str, str]
) -> None:
    writer = closed.front.open("named")
    start = 0
    for call_id in (f"pay-{MARK}", "call-7"):
        arguments = {"card_number": MARK, "order": OUTSIDE}
        text = block("pay", **arguments)
        writer.accept(text)
        end = start + len(cut(text))
        body = {"span": [start, end], "tool": "pay", "arguments": arguments, "call_id": call_id}
        answer = writer.post(body)
        assert answer.status_code == 202, answer.text
        start = end
    seen = closed.client(Role.AUDITOR).get("/v1/streams/named").json()["intents"]
    assert [intent["call_id"] for intent in seen] == ["[masked]", "call-7"]
    events = closed.client(Role.AUDITOR).get("/v1/streams/named/events?limit=1000").text
    assert MARK not in events
    assert "call-7" in events


def test_what_a_person_is_asked_about_had_another_shape_for_who_only_looks_on(database: TestDatabase) -> None:
    tool = {**TOOL, "approval": "required", "mask": ["card_number"]}
    with closed_front(database) as made:
        assert made.front.client.post("/v1/effects", json={"tools": {"pay": tool}}).is_success
        writer = made.front.open("asked", source="detected")
        [intent] = writer.accept(block("pay", card_number=MARK))["intents"]
        auditor = made.client(Role.AUDITOR)
        place = f"/v1/streams/asked/intents/{intent['intent_id']}"
        for path in (place, "/v1/approvals", "/v1/streams/asked", "/v1/streams/asked/events?limit=1000"):
            assert MARK not in auditor.get(path).text
        view = IntentView.model_validate(auditor.get(place).json())
    assert view.asked is not None
    assert view.asked.upstream == {"http": "[masked]"}
    assert view.asked.footprint is not None
    assert view.asked.footprint.writes == ["[masked]"]
    assert view.asked.definition is not None


def test_where_nothing_is_masked_auditors_see_everything(database: TestDatabase) -> None:
    with closed_front(database) as closed:
        closed.front.open("s", source="detected").accept(block("put", name=MARK))
        assert MARK in closed.client(Role.AUDITOR).get("/v1/streams/s").text
