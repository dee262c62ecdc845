"""``/v1/dispatch``: pausing and resuming over HTTP."""

from collections.abc import Iterator

import pytest

from tests.gateway.http.front import Front, problem
from tests.gateway.toolserver import eventually


@pytest.fixture(autouse=True)
def lifted(front: Front) -> Iterator[None]:
    yield
    for body in ({}, {"tool": "put"}, {"tool": "get"}):
        front.client.post("/v1/dispatch/resume", json=body)


def test_pauses_and_resumes(front: Front) -> None:
    before = front.client.get("/v1/dispatch")
    assert before.json()["paused"] == []
    paused = front.client.post("/v1/dispatch/pause", json={"tool": "put", "reason": "fire"})
    assert (paused.status_code, paused.json()["in_force"]) == (200, True)
    [row] = paused.json()["paused"]
    assert (row["tool"], row["reason"], row["by"]) == ("put", "fire", "open")
    assert (
        front.client.get("/v1/dispatch").headers["ETag"] == paused.headers["ETag"] != before.headers["ETag"]
    )
    everything = front.client.post("/v1/dispatch/pause", json={})
    assert [row["tool"] for row in everything.json()["paused"]] == ["*", "put"]
    resumed = front.client.post("/v1/dispatch/resume", json={})
    assert (resumed.json()["was_paused"], [row["tool"] for row in resumed.json()["paused"]]) == (
        True,
        ["put"],
    )
    again = front.client.post("/v1/dispatch/resume", json={})
    assert again.json()["was_paused"] is False
    assert (
        front.client.post("/v1/dispatch/resume", json={"tool": "put"}).headers["ETag"]
        == before.headers["ETag"]
    )


def test_the_gauge_follows(front: Front) -> None:
    def paused() -> float:
        lines = front.client.get("/metrics").text.splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("commitgate_paused_tools "))

    assert eventually(lambda: paused() == 0)
    front.client.post("/v1/dispatch/pause", json={"tool": "put"})
    assert eventually(lambda: paused() == 1)


def test_a_precondition_is_kept(front: Front) -> None:
    tag = front.client.get("/v1/dispatch").headers["ETag"]
    paused = front.client.post(
        "/v1/dispatch/pause", json={"tool": "put"}, headers={"If-Match": f'"x", {tag}'}
    )
    assert paused.status_code == 200
    for name in ("pause", "resume"):
        late = front.client.post(f"/v1/dispatch/{name}", json={"tool": "put"}, headers={"If-Match": tag})
        assert problem(late) == (412, "precondition_failed")
    nonsense = front.client.post("/v1/dispatch/resume", json={}, headers={"If-Match": "7"})
    assert problem(nonsense) == (422, "invalid_request")
    assert len(front.client.get("/v1/dispatch").json()["paused"]) == 1
    there = front.client.post("/v1/dispatch/resume", json={"tool": "put"}, headers={"If-Match": "*"})
    assert there.status_code == 200


def test_a_tool_that_nobody_knows_is_not_paused(front: Front) -> None:
    refused = front.client.post("/v1/dispatch/pause", json={"tool": "ptu"})
    assert problem(refused) == (404, "unknown_tool")
    assert front.client.get("/v1/dispatch").json()["paused"] == []


@pytest.mark.parametrize("body", [{"tool": 1}, {"tool": ""}, {"tools": "put"}, {"reason": None}, []])
def test_other_bodies_are_refused(front: Front, body: object) -> None:
    assert problem(front.client.post("/v1/dispatch/pause", json=body))[0] == 422
