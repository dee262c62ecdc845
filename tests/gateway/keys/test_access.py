"""Every route under every role: what interface.md allows, and nothing else; and nothing of another tenant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import httpx2
import pytest

from gateway.http.access import ACCESS, ANYBODY, needed, place
from gateway.http.app import create_app
from gateway.http.settings import HttpSettings
from gateway.principal import Role
from gateway.service.services import Services
from tests.gateway.http.front import TABLE, Front, block, problem
from tests.gateway.keys.closed import Closed, closed_front
from tests.postgres import TestDatabase

D, RT, A, RC, O = Role.DECODER, Role.RUNTIME, Role.AUDITOR, Role.RECONCILER, Role.OPERATOR  # noqa: E741

# By hand, from interface.md and nothing else: whoever changes the table of the product has to change this one too.
EXPECTED: dict[tuple[str, str], set[Role]] = {
    ("GET", "/metrics"): {A, O},
    ("POST", "/v1/streams"): {RT},
    ("GET", "/v1/streams/{}"): {D, RT, A, O},
    ("GET", "/v1/streams/{}/events"): {D, RT, A, O},
    ("POST", "/v1/streams/{}/events"): {D},
    ("POST", "/v1/streams/{}/intents"): {RT},
    ("GET", "/v1/streams/{}/intents/{}"): {RT, A, O},
    ("GET", "/v1/effects"): {RT, A, O},
    ("POST", "/v1/effects"): {O},
    ("GET", "/v1/doubts"): {A, O},
    ("POST", "/v1/doubts/{}/{}"): {O},
    ("GET", "/v1/approvals"): {A, O},
    ("POST", "/v1/approvals/{}/{}"): {O},
    ("GET", "/v1/dispatch"): {A, O},
    ("POST", "/v1/dispatch/pause"): {O},
    ("POST", "/v1/dispatch/resume"): {O},
    ("GET", "/v1/ledger/events"): {A, O},
    ("GET", "/v1/ledger/checkpoint"): {A, O},
    ("GET", "/v1/ledger/proofs/inclusion"): {A, O},
    ("GET", "/v1/ledger/proofs/consistency"): {A, O},
    ("POST", "/v1/reconciliations"): {RC},
    ("GET", "/v1/reconciliations"): {RC, A, O},
    ("GET", "/v1/reconciliations/{}"): {RC, A, O},
    ("GET", "/v1/reconciliations/{}/findings"): {RC, A, O},
    ("GET", "/mcp"): {RT},
    ("POST", "/mcp"): {RT},
    ("DELETE", "/mcp"): {RT},
}
PUBLIC = {("GET", path) for path in ("/healthz", "/readyz", "/openapi.json", "/")}
NOT_MEANT = {("POST", "/v1/approvals"), ("GET", "/v1/approvals/{}/{}"), ("GET", "/v1/dispatch/pause"),
             ("GET", "/v1/dispatch/resume"), ("POST", "/v1/reconciliations/{}"),
             ("POST", "/v1/reconciliations/{}/findings")}  # fmt: skip
"""Methods that only the refusal of what is not built takes; nobody may."""


def places(app: Any) -> set[tuple[str, str]]:
    """Every method and path that an application routes."""
    found = set()
    routes = [
        one
        for route in app.routes
        for one in (
            route.effective_route_contexts() if hasattr(route, "effective_route_contexts") else [route]
        )
    ]
    for route in routes:
        for method in (route.methods or {"GET", "POST", "DELETE"}) - {"HEAD", "OPTIONS"}:
            found.add(place(method, route.path))
    return found


APP = create_app(cast("Services", None), HttpSettings())


@pytest.fixture(scope="module")
def closed(module_database: TestDatabase) -> Iterator[Closed]:
    with closed_front(module_database) as made:
        yield made


@pytest.fixture(scope="module")
def clients(closed: Closed) -> dict[Role, httpx2.Client]:
    return {role: closed.client(role) for role in Role}


def test_the_table_is_the_one_that_was_decided() -> None:
    assert {p: set(roles) for p, roles in ACCESS.items() if roles} == EXPECTED
    assert {p for p, roles in ACCESS.items() if not roles} == PUBLIC


def test_every_route_is_in_the_table() -> None:
    assert places(APP) - set(ACCESS) <= NOT_MEANT
    described = {place(m.upper(), path) for path, ops in APP.openapi()["paths"].items() for m in ops}
    assert described <= set(ACCESS)


def test_a_route_that_nobody_decided_about_is_noticed_and_is_nobodys() -> None:
    """The negative control."""
    app = create_app(cast("Services", None), HttpSettings())
    app.add_api_route("/v1/forgotten/{key}", lambda key: key)
    assert places(app) - set(ACCESS) - NOT_MEANT == {("GET", "/v1/forgotten/{}")}
    assert needed("GET", "/v1/forgotten/{key}") is None
    assert needed("GET", "/healthz") == ANYBODY


def status_of(client: httpx2.Client, method: str, path: str) -> int:
    """The status alone: the body of a live stream may never end. A body is sent that is refused later than a role."""
    with client.stream(method, path, headers={"Content-Type": "text/plain"}) as answer:
        return answer.status_code


@pytest.mark.parametrize("where", sorted(places(APP)), ids=" ".join)
def test_each_role_may_what_it_should_and_no_more(
    closed: Closed, clients: dict[Role, httpx2.Client], where: tuple[str, str]
) -> None:
    method, path = where
    filled = path.replace("{}", "nothing")
    allowed = EXPECTED.get(where, set())
    for role in Role:
        status = status_of(clients[role], method, filled)
        if where in PUBLIC or role in allowed or (role is Role.ADMIN and where in EXPECTED):
            assert status not in (401, 403), role
        else:
            assert status == 403, role
    with httpx2.Client(base_url=closed.front.url) as nobody:
        status = status_of(nobody, method, filled)
        assert status == (401 if where in EXPECTED else 403) or where in PUBLIC


def test_several_roles_add_up(closed: Closed) -> None:
    both = closed.client(Role.RUNTIME, Role.DECODER)
    opened = both.post("/v1/streams", json={"tool_calls": {"format": "hermes", "from": "detected"}})
    assert opened.status_code == 201
    body = {
        "writer_epoch": opened.json()["writer_epoch"],
        "events": [{"type": "tokens.accepted", "round": 0, "tokens": [{"text": "x"}]}],
    }
    key = opened.json()["commit_key"]
    assert both.post(f"/v1/streams/{key}/events", json=body).status_code == 201
    assert problem(both.get("/v1/ledger/events")) == (403, "forbidden")


def test_a_provisional_answer_is_for_auditors_and_operators(
    closed: Closed, clients: dict[Role, httpx2.Client]
) -> None:
    key, intent = closed.front.in_doubt()
    path = f"/v1/streams/{key}/intents/{intent}?provisional=true"
    assert problem(clients[Role.RUNTIME].get(path)) == (403, "forbidden")
    for role in (Role.AUDITOR, Role.OPERATOR, Role.ADMIN):
        assert clients[role].get(path).status_code == 200


def test_a_tenant_sees_and_touches_nothing_of_another(closed: Closed) -> None:
    front = closed.front
    key, intent = front.in_doubt()
    done = front.open("of-a", source="detected")
    done.accept(block("put", name="secret-of-a"))
    front.seal()
    other = closed.client(*Role, tenant="b")
    before = front.rows()
    for path in (
        f"/v1/streams/{key}",
        f"/v1/streams/{key}/events",
        f"/v1/streams/{key}/intents/{intent}",
        f"/v1/streams/{key}/intents/{intent}?provisional=true&wait=0.1",
        f"/v1/ledger/proofs/inclusion?commit_key={key}&seq=1",
    ):
        assert other.get(path).status_code == 404, path
    live = other.get(f"/v1/streams/{key}/events", headers={"Accept": "text/event-stream"})
    assert problem(live) == (404, "unknown_commit_key")
    writes: dict[str, Any] = {
        f"/v1/streams/{key}/events": {
            "writer_epoch": 1,
            "events": [{"type": "stream.finished", "reason": "stop"}],
        },
        f"/v1/streams/{key}/intents": {"span": [0, 1], "tool": "put", "arguments": {}},
        f"/v1/doubts/{key}/{intent}": {"as": "happened", "reason": "mine"},
    }
    for path, body in writes.items():
        assert problem(other.post(path, json=body)) == (404, "unknown_commit_key"), path
    assert other.get("/v1/doubts").json() == {"doubts": []}
    assert other.get("/v1/ledger/events").json()["events"] == []
    assert other.get("/v1/effects").json()["version"] == 0
    assert front.rows() == before
    # The negative control: its own tenant finds all of it.
    mine = closed.client(Role.OPERATOR, Role.AUDITOR)
    assert mine.get(f"/v1/streams/{key}/intents/{intent}").status_code == 200
    assert any(
        event["commit_key"] == key for event in mine.get("/v1/ledger/events?limit=1000").json()["events"]
    )


def test_one_commit_key_in_two_tenants_is_two_streams(closed: Closed, front_of_b: httpx2.Client) -> None:
    closed.front.open("shared").accept("of a")
    opened = front_of_b.post(
        "/v1/streams", json={"commit_key": "shared", "tool_calls": {"format": "hermes", "from": "posted"}}
    )
    assert (opened.status_code, opened.json()["writer_epoch"]) == (201, 1)
    assert front_of_b.get("/v1/streams/shared").json()["branches"]["main"]["text"] == ""


def test_the_table_of_one_tenant_is_not_anothers(closed: Closed, front_of_b: httpx2.Client) -> None:
    applied = front_of_b.post("/v1/effects", json={"tools": {"mine": TABLE["tools"]["get"]}})
    assert applied.status_code == 200
    assert set(closed.front.client.get("/v1/effects").json()["table"]["tools"]) == set(TABLE["tools"])


@pytest.fixture(scope="module")
def front_of_b(closed: Closed) -> httpx2.Client:
    return closed.client(Role.ADMIN, tenant="b")


def test_who_did_it_is_written_down(closed: Closed) -> None:
    front: Front = closed.front
    key, intent = front.in_doubt()
    by = closed.key(Role.OPERATOR)
    answer = closed.with_key(by.text).post(
        f"/v1/doubts/{key}/{intent}", json={"as": "happened", "reason": "asked"}
    )
    assert answer.status_code == 200
    events = front.client.get(f"/v1/streams/{key}/events").json()["events"]
    assert [e["by"] for e in events if e["type"] == "dispatch.resolved"] == [f"key:{by.id}"]
