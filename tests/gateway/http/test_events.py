import json
from typing import Any

import pytest

from tests.gateway.http.front import Front, block, cut, drafted, problem, ruled


def test_writes_a_batch_and_says_what_changed(front: Front) -> None:
    writer = front.open(source="detected")
    text = block("get", name="x")
    size = len(cut(text))
    answer = writer.write(drafted(0, 0, text), ruled(0, 0, size, size))
    assert answer["branches"] == {"main": {"head": size, "drafted_end": size, "round": 0}}
    assert [(intent["tool"], intent["block"], intent["state"]) for intent in answer["intents"]] == [
        ("get", "cleared", "released")
    ]
    assert answer["seq"] == writer.show()["seq"]


def test_the_same_batch_again_is_a_replay(front: Front) -> None:
    writer = front.open()
    raw = json.dumps(writer.batch(drafted(0, 0, "abcdefgh"), batch_id="b1")).encode()
    headers = {"Content-Type": "application/json"}
    first = front.client.post(writer.path + "/events", content=raw, headers=headers)
    assert first.status_code == 201
    assert "Idempotent-Replayed" not in first.headers
    front.open(writer.key)  # the replay is compared before the epoch
    rows = front.rows()
    again = front.client.post(writer.path + "/events", content=raw, headers=headers)
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert again.content == first.content
    other = front.client.post(writer.path + "/events", content=raw + b" ", headers=headers)
    assert problem(other) == (409, "batch_id_reused")
    assert front.rows() == rows


def test_a_rulings_further_members_are_kept(front: Front) -> None:
    writer = front.open()
    writer.draft("abcdefgh")
    audit: dict[str, Any] = {
        "ruling_id": "r",
        "proposals": [{"drafter": "small", "ids": [1, 2], "parent": [-1, 0], "p": None}],
        "verify_ms": 1.5,
        "window_digest": "sha256:00",
        "binding": None,
    }
    writer.rule(1, token={"text": "x", "id": None, "drafter": None}, **audit)
    event = front.client.get(writer.path + "/events").json()["events"][-1]
    audit.pop("binding")
    assert event == {
        "seq": 3,
        "type": "tokens.ruled",
        "branch": "main",
        "at": event["at"],
        "round": 0,
        "start": 0,
        "end": 2,
        "accepted": 1,
        "token": {"text": "x"},
        **audit,
    }


def test_reads_events_by_seq(front: Front) -> None:
    writer = front.open(source="detected")
    writer.accept(block("put", name="x"))
    everything = front.client.get(writer.path + "/events").json()
    seqs = [event["seq"] for event in everything["events"]]
    assert seqs == list(range(1, everything["seq"] + 1))
    part = front.client.get(writer.path + "/events", params={"after": 2, "limit": 2}).json()
    assert part == {"events": everything["events"][2:4], "seq": everything["seq"]}
    held = next(event for event in everything["events"] if event["type"] == "intent.held")
    assert held["tool"] == "put"
    assert held["intent_id"]
    assert all("payload" not in event for event in everything["events"])


@pytest.mark.parametrize(
    "event",
    [
        {"type": "branch.voted", "head": 0, "accepted_digest": "sha256:0", "weight": 0.5},
        {"type": "binding.attached", "binding": "b1"},
    ],
)
def test_events_of_later_parts_are_not_supported_yet(front: Front, event: dict[str, object]) -> None:
    writer = front.open()
    answer = front.client.post(writer.path + "/events", json=writer.batch(event))
    assert problem(answer) == (422, "not_supported")
