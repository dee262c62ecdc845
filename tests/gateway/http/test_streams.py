import re

import pytest

from gateway.turn.forking import MAX_FORKS
from tests.gateway.http.front import Front, block, cut, problem

CALLS = {"format": "hermes", "from": "posted"}


def test_opens_a_stream_and_takes_it_over(front: Front) -> None:
    body = {"commit_key": "k:1", "tool_calls": CALLS, "labels": {"run": "a"}, "parent": "k:0"}
    answer = front.client.post("/v1/streams", json=body)
    standing = {"main": {"head": 0, "drafted_end": 0, "round": 0}}
    assert answer.status_code == 201
    assert answer.json() == {"commit_key": "k:1", "writer_epoch": 1, "seq": 1, "branches": standing}

    again = front.client.post("/v1/streams", json=body)
    assert again.status_code == 200
    assert again.json() == {"commit_key": "k:1", "writer_epoch": 2, "seq": 2, "branches": standing}


def test_takeover_fences_the_older_writer_and_voids_its_drafts(front: Front) -> None:
    old = front.open()
    old.accept("ab")
    old.draft("cdefgh")
    taken = front.client.post("/v1/streams", json={"commit_key": old.key})
    assert taken.json()["branches"] == {"main": {"head": 1, "drafted_end": 1, "round": 1}}
    refused = front.client.post(
        old.path + "/events", json=old.batch({"type": "stream.finished", "reason": "stop"})
    )
    assert problem(refused) == (409, "stale_writer")


def test_makes_a_commit_key_where_none_is_given(front: Front) -> None:
    answer = front.client.post("/v1/streams", json={"tool_calls": CALLS})
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", answer.json()["commit_key"]
    )


def test_a_new_stream_says_who_finds_its_calls(front: Front) -> None:
    answer = front.client.post("/v1/streams", json={"commit_key": "nobody-yet"})
    assert problem(answer) == (422, "invalid_request")
    assert answer.json()["errors"] == [{"place": "tool_calls", "reason": "missing"}]


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"branches": ["other"]}, "branches"),
        ({"binding": {"kind": "hosted"}}, "binding"),
        ({"tool_calls": {"format": "hermes", "from": "detected"}}, "from"),
    ],
)
def test_terms_given_again_must_be_equal(front: Front, members: dict[str, object], field: str) -> None:
    body = {"commit_key": f"again-{field}", "tool_calls": CALLS, "binding": {"kind": "single", "model": "m"}}
    assert front.client.post("/v1/streams", json=body).status_code == 201
    answer = front.client.post("/v1/streams", json={**body, **members})
    assert problem(answer) == (409, f"exists_with_different_{field}")


@pytest.mark.parametrize(
    "members",
    [
        {"threshold": 0.5},
        {"branches_mode": "disjoint"},
        {"binding": {"kind": "pair"}},
        {"branches": ["a", "b"]},
        {"tool_calls": {"format": "openai", "from": "posted"}},
    ],
)
def test_refuses_what_is_not_built_yet(front: Front, members: dict[str, object]) -> None:
    answer = front.client.post("/v1/streams", json={"commit_key": "unbuilt", "tool_calls": CALLS, **members})
    assert problem(answer) == (422, "not_supported")
    assert problem(front.client.get("/v1/streams/unbuilt")) == (404, "unknown_commit_key")


def test_a_fork_names_a_stream_that_exists_and_keeps_it(front: Front) -> None:
    new = {"tool_calls": CALLS}
    assert front.client.post("/v1/streams", json={"commit_key": "trunk", **new}).status_code == 201
    opened = front.client.post("/v1/streams", json={"commit_key": "limb", "fork_of": "trunk", **new})
    assert opened.status_code == 201
    assert front.client.get("/v1/streams/limb").json()["fork_of"] == "trunk"
    assert front.client.get("/v1/streams/trunk").json()["fork_of"] is None
    for key, fork_of, code in (
        ("limb-2", "nowhere", (422, "unknown_fork_of")),
        ("limb-2", "limb-2", (422, "fork_of_itself")),
        ("limb-2", "_effects", (422, "invalid_request")),
        ("limb", "limb", (409, "exists_with_different_fork_of")),
        ("trunk", "limb", (409, "exists_with_different_fork_of")),
    ):
        answer = front.client.post("/v1/streams", json={"commit_key": key, "fork_of": fork_of, **new})
        assert problem(answer) == code
    assert problem(front.client.get("/v1/streams/limb-2")) == (404, "unknown_commit_key")
    for again in ({}, {"fork_of": "trunk"}):
        assert (
            front.client.post("/v1/streams", json={"commit_key": "limb", **new, **again}).status_code == 200
        )


def test_forks_of_forks_come_to_an_end(front: Front) -> None:
    front.client.post("/v1/streams", json={"commit_key": "f0", "tool_calls": CALLS})
    answers = [
        front.client.post(
            "/v1/streams", json={"commit_key": f"f{n}", "fork_of": f"f{n - 1}", "tool_calls": CALLS}
        )
        for n in range(1, MAX_FORKS + 1)
    ]
    assert {a.status_code for a in answers[:-1]} == {201}
    assert problem(answers[-1]) == (422, "forks_too_deep")


def test_shows_the_stream(front: Front) -> None:
    writer = front.open(source="detected")
    text = "A" + block("get", name="x")
    writer.accept(text)
    writer.draft("B")
    writer.finish("stop")
    shown = front.client.get(writer.path, params={"ids": "true"}).json()
    tokens = cut(text)
    assert shown["branches"] == {
        "main": {
            "head": len(tokens),
            "drafted_end": len(tokens) + 1,
            "round": 0,
            "text": text,
            "ids": [token["id"] for token in tokens],
        }
    }
    assert shown["finished"] == "stop"
    assert [intent["tool"] for intent in shown["intents"]] == ["get"]
    assert "ids" not in writer.show()["branches"]["main"]


def test_a_branch_may_have_another_name(front: Front) -> None:
    body = {"commit_key": "lane", "tool_calls": CALLS, "branches": ["plan"]}
    assert list(front.client.post("/v1/streams", json=body).json()["branches"]) == ["plan"]


@pytest.mark.parametrize("key", ["_effects", "nothing", "a%00b", "%C3%A4", "-a", "x" * 129])
def test_an_unknown_key_is_not_found(front: Front, key: str) -> None:
    assert problem(front.client.get(f"/v1/streams/{key}")) == (404, "unknown_commit_key")
