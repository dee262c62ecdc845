"""Approvals over HTTP: listing what waits, and a person's word."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Thread
from typing import Any

import httpx2
from sqlalchemy import event

from gateway.service.approvals import LISTED
from ledger.listing import list_awaiting_approval
from tests.gateway.http.front import Body, Front, problem


def path(intent: Body) -> str:
    return f"/v1/approvals/{intent['commit_key']}/{intent['intent_id']}"


def shown(front: Front, intent: Body, **query: object) -> Body:
    at = f"/v1/streams/{intent['commit_key']}/intents/{intent['intent_id']}"
    return dict(front.client.get(at, params=query).json())


def events(front: Front, intent: Body) -> list[Body]:
    return list(front.client.get(f"/v1/streams/{intent['commit_key']}/events").json()["events"])


def test_what_waits_is_listed_and_approved_once(front: Front) -> None:
    intent = front.awaiting_approval(name="a", amount=7)
    listed = {i["intent_id"]: i for i in front.client.get("/v1/approvals").json()["approvals"]}
    assert listed[intent["intent_id"]] == intent
    assert (intent["reason"], intent["arguments"]) == ("required", {"name": "a", "amount": 7})
    body = {"decision": "approve", "reason": "ok", "arguments_digest": intent["arguments_digest"]}
    answer = front.client.post(path(intent), json=body)
    assert answer.status_code == 200
    released = answer.json()
    assert (released["state"], released["release"]) == ("released", "committed")
    assert (released["approval"]["by"], released["approval"]["note"]) == ("open", "ok")
    assert intent["intent_id"] not in [
        i["intent_id"] for i in front.client.get("/v1/approvals").json()["approvals"]
    ]
    [approved] = [e for e in events(front, intent) if e["type"] == "intent.approved"]
    assert approved["arguments_digest"] == intent["arguments_digest"]
    assert {k: approved[k] for k in ("by", "note", "expires_at")} == released["approval"]
    rows = front.rows()
    for decision in ("approve", "deny"):
        again = front.client.post(path(intent), json={"decision": decision, "reason": "again"})
        assert problem(again) == (409, "not_awaiting_approval")
    assert front.rows() == rows


def test_an_approval_of_other_arguments_is_refused(front: Front) -> None:
    one, other = front.awaiting_approval(name="a"), front.awaiting_approval(name="b")
    body = {"decision": "approve", "arguments_digest": other["arguments_digest"]}
    refused = front.client.post(path(one), json=body)
    assert problem(refused) == (409, "approval_of_other_arguments")
    assert refused.json()["arguments_digest"] == one["arguments_digest"]
    assert shown(front, one)["state"] == "awaiting_approval"


def test_a_denial_needs_a_reason_and_ends_the_wait(front: Front) -> None:
    intent = front.awaiting_approval()
    assert problem(front.client.post(path(intent), json={"decision": "deny"})) == (422, "invalid_request")
    waited: list[Body] = []
    waiting = Thread(target=lambda: waited.append(shown(front, intent, wait=30)))
    waiting.start()
    denied = front.client.post(path(intent), json={"decision": "deny", "reason": "too much"}).json()
    waiting.join(20)
    assert (denied["state"], denied["reason"]) == ("denied", "too much")
    assert waited == [denied]


def test_there_is_nothing_to_approve(front: Front) -> None:
    intent = front.awaiting_approval()
    for at, code in (
        (f"/v1/approvals/none/{intent['intent_id']}", "unknown_commit_key"),
        (f"/v1/approvals/{intent['commit_key']}/int_0", "unknown_intent"),
    ):
        assert problem(front.client.post(at, json={"decision": "approve"})) == (404, code)
    tagged = front.client.post(path(intent), json={"decision": "approve"}, headers={"If-Match": '"1"'})
    assert problem(tagged) == (422, "not_supported")


def test_of_two_operators_at_once_one_decides(front: Front) -> None:
    intents = [front.awaiting_approval(name=f"n{n}") for n in range(8)]
    ready = Barrier(2)

    def approve(intent: Body) -> httpx2.Response:
        with httpx2.Client(base_url=front.url, timeout=30) as own:
            ready.wait(20)
            return own.post(path(intent), json={"decision": "approve"})

    with ThreadPoolExecutor(2) as operators:
        for intent in intents:
            answers = list(operators.map(approve, [intent, intent]))
            assert sorted(answer.status_code for answer in answers) == [200, 409]
            [late] = [answer for answer in answers if answer.status_code == 409]
            assert problem(late) == (409, "not_awaiting_approval")
            types = [e["type"] for e in events(front, intent)]
            assert (types.count("intent.approved"), types.count("intent.released")) == (1, 1)


def test_what_waits_is_found_by_an_index_of_its_own(front: Front) -> None:
    front.awaiting_approval()
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        asked.append((statement, parameters))

    event.listen(front.engine, "before_cursor_execute", note)
    try:
        assert list_awaiting_approval(front.engine, "default", limit=LISTED)
    finally:
        event.remove(front.engine, "before_cursor_execute", note)
    [(statement, parameters)] = [one for one in asked if "ledger.intents" in one[0]]
    front.audit.execute("set enable_seqscan = off")
    plan = front.audit.execute("explain " + statement, parameters).fetchall()
    assert "intents_awaiting_approval" in str(plan)
