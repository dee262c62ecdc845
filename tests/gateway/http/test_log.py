"""The sealed feed and evidence over HTTP."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.tree import leaf_hash, verify_consistency, verify_inclusion
from tests.gateway.http.front import Body, Front, block, problem


def _page(front: Front, **params: Any) -> Body:
    answer = front.client.get("/v1/ledger/events", params=params)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def _all(front: Front, **params: Any) -> list[Body]:
    """Everything up to the end, page by page; the cursor always moves on."""
    found: list[Body] = []
    page = _page(front, **params)
    while True:
        found += page["events"]
        if not page["more"]:
            return found
        before, page = page["cursor"], _page(front, **{**params, "after": page["cursor"]})
        assert page["cursor"] != before


def test_every_sealed_event_once_in_log_order(front: Front) -> None:
    writers = [front.open(source="detected") for _ in range(3)]
    for text in (block("put", name="a"), block("get", name="b")):
        for writer in writers:
            writer.accept(text)
    size = front.seal()
    events = _all(front, limit=7)
    assert [event["index"] for event in events] == list(range(size))
    for writer in writers:
        own = front.client.get(writer.path + "/events").json()["events"]
        told = [event for event in events if event["commit_key"] == writer.key]
        assert [{k: v for k, v in event.items() if k not in ("index", "commit_key")} for event in told] == own
    writers[0].accept("not sealed yet")
    assert _all(front, limit=1000) == events


def test_filters_and_pages_of_them_move_on(front: Front) -> None:
    writer = front.open(source="detected")
    writer.accept(block("put", name="filtered"))
    other = front.open()
    other.accept("abcd")
    front.seal()
    events = _all(front)
    held = [event for event in events if event["type"] == "intent.held"]
    assert _all(front, type="intent.held", limit=1) == held
    own = [event for event in events if event["commit_key"] == writer.key]
    assert _all(front, commit_key=writer.key, limit=2) == own
    puts = {event["intent_id"] for event in held if event["tool"] == "put"}
    assert puts
    assert _all(front, tool="put", limit=3) == [event for event in events if event.get("intent_id") in puts]
    assert _all(front, tool="nobody") == _all(front, commit_key="nobody") == []
    middle = own[1]["at"]
    assert _all(front, since=middle) == [event for event in events if event["at"] >= middle]
    assert _all(front, until=middle) == [event for event in events if event["at"] < middle]
    first = _page(front, commit_key="_effects", limit=1)
    assert [event["type"] for event in first["events"]] == ["effects.changed"]


def test_an_empty_page_is_a_place_to_go_on_from(front: Front) -> None:
    front.seal()
    end = _page(front, type="stream.finished", tool="none", limit=1000)
    assert end["events"] == []
    writer = front.open()
    front.seal()
    later = _page(front, after=end["cursor"])
    assert [(event["commit_key"], event["seq"]) for event in later["events"]] == [(writer.key, 1)]


def _altered(cursor: str, place: int, value: object) -> str:
    told = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    told[place] = value
    return base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")


def test_refuses_what_is_no_cursor_of_this_log(front: Front) -> None:
    cursor = _page(front)["cursor"]
    bad = [
        "",
        "x",
        "!",
        cursor[:-2],
        cursor + "=",
        _altered(cursor, 0, "another log"),
        _altered(cursor, 1, -2),
    ]
    bad += [_altered(cursor, 1, 10**9), _altered(cursor, 1, 1.0), _altered(cursor, 1, True), "W" * 300]
    for text in bad:
        answer = front.client.get("/v1/ledger/events", params={"after": text})
        assert problem(answer) == (422, "bad_cursor"), text


@pytest.mark.parametrize(
    "params",
    [
        {"type": "no.such"},
        {"limit": 0},
        {"limit": 1001},
        {"commit_key": "a b"},
        {"since": "yesterday"},
        {"after": "x" * 401},
        {"tool": ""},
    ],
)
def test_refuses_what_is_no_filter(front: Front, params: Body) -> None:
    assert problem(front.client.get("/v1/ledger/events", params=params)) == (422, "invalid_request")


def test_refuses_nul(front: Front) -> None:
    answer = front.client.get("/v1/ledger/events", params={"tool": "a\0b"})
    assert problem(answer) == (422, "invalid_text")


def test_an_event_is_proved_against_what_was_signed(front: Front) -> None:
    writer = front.open()
    writer.accept("proved")
    size = front.seal()
    told = front.client.get("/v1/ledger/checkpoint").json()
    signed = Checkpoint.parse(front.key.verifier().open(told["checkpoint"]))
    assert (signed.origin, signed.size, signed.root.hex()) == (told["origin"], told["size"], told["root"])
    assert signed.size == size
    proof = front.client.get(
        "/v1/ledger/proofs/inclusion", params={"commit_key": writer.key, "seq": 2}
    ).json()
    assert proof["checkpoint"] == told["checkpoint"]
    leaf = leaf_hash(proof["envelope"].encode())
    assert leaf.hex() == proof["leaf_hash"]
    path = [bytes.fromhex(node) for node in proof["path"]]
    verify_inclusion(leaf, proof["index"], size, path, signed.root)
    envelope = json.loads(proof["envelope"])
    assert (envelope["commit_key"], envelope["seq"]) == (writer.key, 2)


def test_what_is_not_covered_yet_can_be_asked_for_again(front: Front) -> None:
    writer = front.open()
    params = {"commit_key": writer.key, "seq": 1}
    answer = front.client.get("/v1/ledger/proofs/inclusion", params=params)
    assert problem(answer) == (409, "not_sealed")
    assert answer.json()["retryable"] is True
    front.seal()
    assert front.client.get("/v1/ledger/proofs/inclusion", params=params).status_code == 200
    for unknown in ({**params, "seq": 2}, {**params, "commit_key": "none"}):
        answer = front.client.get("/v1/ledger/proofs/inclusion", params=unknown)
        assert problem(answer) == (404, "unknown_event")


def test_a_larger_log_is_proved_to_extend_a_smaller_one(front: Front) -> None:
    front.open().accept("a")
    old = front.client.get("/v1/ledger/checkpoint").json() if front.seal() else None
    assert old is not None
    front.open().accept("b")
    front.seal()
    new = front.client.get("/v1/ledger/checkpoint").json()
    for to in ({}, {"to": new["size"]}):
        proof = front.client.get("/v1/ledger/proofs/consistency", params={"from": old["size"], **to}).json()
        assert (proof["from"], proof["to"]) == (old["size"], new["size"])
        roots = [bytes.fromhex(told["root"]) for told in (old, new)]
        path = [bytes.fromhex(node) for node in proof["path"]]
        verify_consistency(old["size"], new["size"], roots[0], roots[1], path)
    for bad in ({"from": new["size"] + 1}, {"from": 0, "to": new["size"] + 1}):
        answer = front.client.get("/v1/ledger/proofs/consistency", params=bad)
        assert problem(answer) == (422, "proof_refused")
    assert problem(front.client.get("/v1/ledger/proofs/consistency")) == (422, "invalid_request")
