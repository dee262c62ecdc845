"""Approvals over HTTP while an operator changes the effect table: what was shown is what is approved, and what is sent."""

import json
from typing import Any

from gateway.turn.dispatching import claim
from gateway.turn.unfolding import Unfolding
from gateway.wiring import utc_now
from ledger.change import Change
from ledger.state import StreamState
from tests.gateway.http.front import TABLE, Body, Front, problem
from tests.gateway.http.test_approvals import events, path, shown

ELSEWHERE = "http://127.0.0.1:10/pay"


def redefined(**changes: object) -> Body:
    table: dict[str, Any] = json.loads(json.dumps(TABLE))
    table["tools"]["pay"] |= changes
    return table


def put_in_force(front: Front, table: Body) -> int:
    answer = front.client.post("/v1/effects", json=table)
    assert answer.is_success
    return int(answer.json()["version"])


def claim_in_vain(front: Front, intent: Body) -> None:
    """Claim a released call, as a dispatcher does that finds nothing to send."""

    def decide(state: StreamState) -> Change:
        unfolding = Unfolding(state, utc_now())
        force = front.services.tables.current("default")
        assert claim(unfolding, force, intent["intent_id"], worker="w", epoch=1) is None
        return unfolding.change()

    front.ledger.append("default", intent["commit_key"], decide)


def asked(front: Front, intent: Body) -> list[str]:
    return [e["because"] for e in events(front, intent) if e["type"] == "intent.awaiting_approval"]


def test_a_request_shows_what_is_asked_about(front: Front) -> None:
    request = front.awaiting_approval(name="x")["asked"]
    assert request["upstream"] == {"http": "http://127.0.0.1:9/pay"}
    assert (request["effect"], request["because"]) == ("WRITE", "required")
    assert request["footprint"]["writes"] == ["purse:x"]
    assert request["definition"].startswith("sha256:")


def test_an_approval_is_void_once_the_tool_is_elsewhere(front: Front) -> None:
    intent = front.awaiting_approval(name="x")
    released = front.client.post(path(intent), json={"decision": "approve"}).json()
    assert released["state"] == "released"
    version = put_in_force(front, redefined(writes=["till:{name}"], upstream={"http": ELSEWHERE}))
    claim_in_vain(front, intent)
    again = shown(front, intent)
    assert (again["state"], again["reason"]) == ("awaiting_approval", "definition_changed")
    assert again["asked"]["upstream"] == {"http": ELSEWHERE}
    assert again["asked"]["effect_version"] == version
    assert again["asked"]["footprint"]["writes"] == ["till:x"]
    assert again["asked"]["definition"] != intent["asked"]["definition"]
    assert again["intent_id"] in [
        i["intent_id"] for i in front.client.get("/v1/approvals").json()["approvals"]
    ]
    assert asked(front, intent) == ["required", "definition_changed"]
    body = {"decision": "approve", "definition": again["asked"]["definition"]}
    assert front.client.post(path(intent), json=body).json()["state"] == "released"
    front.dispatch(intent["commit_key"], intent["intent_id"])
    [released] = [e for e in events(front, intent) if e["type"] == "intent.released"][1:]
    assert released["footprint"]["upstream"] == "http://127.0.0.1:10"
    assert [e["type"] for e in events(front, intent)].count("dispatch.started") == 1


def test_what_changed_since_it_was_asked_is_not_approved_unseen(front: Front) -> None:
    intent = front.awaiting_approval(name="x")
    put_in_force(front, redefined(upstream={"http": ELSEWHERE}))
    refused = front.client.post(path(intent), json={"decision": "approve"})
    assert problem(refused) == (409, "approval_of_other_definition")
    again = shown(front, intent)
    assert (again["state"], again["reason"]) == ("awaiting_approval", "definition_changed")
    assert again["asked"]["definition"] == refused.json()["definition"]
    assert again["asked"]["upstream"] == {"http": ELSEWHERE}
    body = {"decision": "approve", "definition": intent["asked"]["definition"]}
    assert problem(front.client.post(path(intent), json=body)) == (409, "approval_of_other_definition")
    body = {"decision": "approve", "definition": again["asked"]["definition"]}
    assert front.client.post(path(intent), json=body).json()["state"] == "released"


def test_a_class_that_was_raised_is_approved_again_and_a_schema_too(front: Front) -> None:
    for changes in ({"schema": {"type": "object"}}, {"effect": "IDEMPOTENT", "window": "1h"}):
        intent = front.awaiting_approval(name="x")
        assert front.client.post(path(intent), json={"decision": "approve"}).json()["state"] == "released"
        put_in_force(front, redefined(**changes))
        claim_in_vain(front, intent)
        assert shown(front, intent)["reason"] == "definition_changed"
        # A class only rises.
        assert shown(front, intent)["asked"]["effect"] == "WRITE"


def test_a_change_of_patience_voids_no_approval(front: Front) -> None:
    intent = front.awaiting_approval(name="x")
    put_in_force(front, redefined(timeout="7s"))
    assert front.client.post(path(intent), json={"decision": "approve"}).json()["state"] == "released"
    put_in_force(front, redefined(timeout="8s", limits={"concurrency": 3}))
    front.dispatch(intent["commit_key"], intent["intent_id"])
    assert shown(front, intent)["state"] == "dispatched"
    assert asked(front, intent) == ["required"]


def test_the_second_of_two_who_had_seen_the_old_page_approved_the_new_tool(front: Front) -> None:
    """The first one's word asks about it anew, and so does whatever else moves the stream."""
    intent = front.awaiting_approval(name="x")
    put_in_force(front, redefined(upstream={"http": ELSEWHERE}))
    for _ in range(3):
        refused = front.client.post(path(intent), json={"decision": "approve"})
        assert problem(refused) == (409, "approval_of_other_definition")
    assert asked(front, intent) == ["required", "definition_changed"]
    body = {"decision": "approve", "definition": refused.json()["definition"]}
    assert front.client.post(path(intent), json=body).json()["state"] == "released"
