"""Open and closed: who comes in, and how soon a key that is made or revoked is felt."""

import secrets
from collections.abc import Iterator
from datetime import timedelta

import httpx2
import psycopg
import pytest

from gateway.apikey import ApiKey
from gateway.http.app import create_app
from gateway.http.settings import HttpSettings
from gateway.principal import Role
from gateway.service.keyring import FRESH, Keyring
from gateway.wiring import utc_now
from ledger.access.keys import find_key, list_keys, revoke_key
from ledger.connect import connect
from tests.gateway.http.front import Front, problem, serving
from tests.gateway.http.front import front as running_front
from tests.gateway.keys.closed import Closed, closed_front
from tests.gateway.toolserver import eventually
from tests.postgres import TestDatabase, libpq

REFUSED = (401, "unauthorised")


@pytest.fixture(scope="module")
def closed(module_database: TestDatabase) -> Iterator[Closed]:
    with closed_front(module_database) as made:
        yield made


def anybody(front: Front) -> httpx2.Client:
    return httpx2.Client(base_url=front.url, timeout=30, trust_env=False)


def test_the_first_key_closes_a_running_gateway_and_a_revoked_one_keeps_it_closed(
    database: TestDatabase,
) -> None:
    with running_front(database) as front, anybody(front) as client:
        assert client.get("/v1/effects").status_code == 200
        closed = Closed(front, front.engine)
        with psycopg.connect(libpq(database.owner_url)) as owner:
            owner.execute(
                "insert into ledger.keys (id, tenant, roles, digest, created_at, created_by, revoked_at)"
                " values ('a', 'default', '{admin}', sha256('x'), now(), 'test', now())"
            )
        eventually(lambda: client.get("/v1/effects").status_code == 401, within=FRESH + 2)
        with serving(create_app(front.services, HttpSettings())) as another:
            assert problem(httpx2.get(another.url + "/v1/effects")) == REFUSED
        assert closed.front.services.keyring.known_closed


def test_what_is_refused_says_how_to_come_in(closed: Closed) -> None:
    with anybody(closed.front) as client:
        answer = client.get("/v1/effects")
    assert problem(answer) == REFUSED
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="commitgate"'


def test_no_other_header_is_a_key(closed: Closed) -> None:
    good = closed.key(Role.ADMIN)
    unknown = ApiKey.fresh(secrets.token_bytes)
    other_secret = ApiKey(good.id, unknown.secret)
    with anybody(closed.front) as client:
        for header in ("", "Bearer", "Bearer x", good.text, f"Basic {good.text}", f"Bearer {unknown.text}"):
            assert problem(client.get("/v1/effects", headers={"Authorization": header})) == REFUSED
        wrong = {"Authorization": f"Bearer {other_secret.text}"}
        assert problem(client.get("/v1/effects", headers=wrong)) == REFUSED
        two = [("Authorization", f"Bearer {good.text}"), ("Authorization", f"Bearer {good.text}")]
        assert problem(client.get("/v1/effects", headers=two)) == REFUSED
        right = {"Authorization": f"bearer {good.text}"}
        assert client.get("/v1/effects", headers=right).status_code == 200


def test_revocation_is_felt_by_every_gateway_within_the_time_it_says(closed: Closed) -> None:
    key = closed.key(Role.ADMIN)
    client = closed.with_key(key.text)
    with serving(create_app(closed.front.services, HttpSettings())) as another:
        headers = {"Authorization": f"Bearer {key.text}"}
        assert client.get("/v1/effects").status_code == 200
        assert httpx2.get(another.url + "/v1/effects", headers=headers).status_code == 200
        assert revoke_key(closed.owner, key.id) is not None
        eventually(lambda: client.get("/v1/effects").status_code == 401, within=FRESH + 2)
        assert problem(httpx2.get(another.url + "/v1/effects", headers=headers)) == REFUSED


def test_an_expired_key_is_refused(closed: Closed) -> None:
    good, over = (
        closed.key(Role.ADMIN, lasts=timedelta(hours=1)),
        closed.key(Role.ADMIN, lasts=timedelta(microseconds=1)),
    )
    assert closed.with_key(good.text).get("/v1/effects").status_code == 200
    assert problem(closed.with_key(over.text).get("/v1/effects")) == REFUSED


def test_the_secret_is_nowhere_in_the_database(closed: Closed, module_database: TestDatabase) -> None:
    key = closed.key(Role.ADMIN)
    assert closed.with_key(key.text).get("/v1/effects").status_code == 200
    with psycopg.connect(libpq(module_database.admin_url)) as admin:
        kept = admin.execute("select k::text from ledger.keys k").fetchall()
    assert any(key.id in row for (row,) in kept)
    assert not any(key.secret in row for (row,) in kept)


def test_use_is_noted_at_most_once_a_minute(closed: Closed) -> None:
    key = closed.key(Role.ADMIN)
    assert [row.last_used_at for row in list_keys(closed.owner) if row.id == key.id] == [None]
    client = closed.with_key(key.text)
    assert client.get("/v1/effects").status_code == 200

    def noted() -> object:
        row = find_key(closed.owner, key.id)
        return None if row is None else row.last_used_at

    first = eventually(noted)
    for _ in range(3):
        assert client.get("/v1/effects").status_code == 200
    # Another process, which knows nothing of the first one's note.
    other = Keyring(closed.front.engine, utc_now)
    other.authenticate(f"Bearer {key.text}")
    other.close()
    assert noted() == first


def test_health_needs_no_key_and_metrics_do(closed: Closed) -> None:
    with anybody(closed.front) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 200
        assert client.get("/openapi.json").status_code == 200
        assert problem(client.get("/metrics")) == REFUSED
    assert closed.client(Role.AUDITOR).get("/metrics").status_code == 200


def test_metrics_are_answered_to_a_known_key_while_the_database_is_away(database: TestDatabase) -> None:
    with closed_front(database) as closed:
        headers = {"Authorization": f"Bearer {closed.key(Role.OPERATOR).text}"}
        assert httpx2.get(closed.front.url + "/metrics", headers=headers).status_code == 200
        ring = closed.front.services.keyring
        ring._engine = connect("postgresql+psycopg://u@127.0.0.1:9/d")
        eventually(lambda: httpx2.get(closed.front.url + "/v1/effects", headers=headers).status_code == 503)
        assert httpx2.get(closed.front.url + "/metrics", headers=headers).status_code == 200
        answer = httpx2.get(closed.front.url + "/metrics", headers={"Authorization": "Bearer no"})
        assert answer.status_code in (401, 503)


def test_a_closed_gateway_serves_any_host_and_an_open_one_none(
    closed: Closed, database: TestDatabase
) -> None:
    foreign = {"Host": "gate.example", "Origin": "https://evil.example"}
    assert closed.front.client.get("/v1/effects", headers=foreign).status_code == 200
    with running_front(database) as front:
        assert problem(front.client.get("/v1/effects", headers=foreign)) == (403, "forbidden_host")


def test_a_gateway_that_may_not_run_open_asks_for_a_key_that_does_not_exist(database: TestDatabase) -> None:
    with (
        running_front(database) as front,
        serving(create_app(front.services, HttpSettings(may_open=False))) as served,
    ):
        assert problem(httpx2.get(served.url + "/v1/effects")) == REFUSED
        assert httpx2.get(served.url + "/healthz").status_code == 200


def test_a_revoked_key_ends_the_event_stream_that_it_opened(closed: Closed) -> None:
    closed.front.client.post(
        "/v1/streams", json={"commit_key": "followed", "tool_calls": {"format": "hermes", "from": "posted"}}
    ).raise_for_status()
    key = closed.key(Role.AUDITOR)
    live = {"Accept": "text/event-stream"}
    with closed.with_key(key.text).stream("GET", "/v1/streams/followed/events", headers=live) as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith("id: ")
        revoke_key(closed.owner, key.id)
        for _ in lines:
            pass


def test_a_revoked_key_waits_no_longer_for_a_call(closed: Closed) -> None:
    intent = closed.front.awaiting_approval()
    key = closed.key(Role.RUNTIME)
    place = f"/v1/streams/{intent['commit_key']}/intents/{intent['intent_id']}"
    client = closed.with_key(key.text)
    assert client.get(place).status_code == 200
    revoke_key(closed.owner, key.id)
    assert problem(client.get(place, params={"wait": 20})) == REFUSED


def test_a_revoked_key_waits_no_longer_for_a_call_of_mcp(closed: Closed) -> None:
    key = closed.key(Role.RUNTIME)
    client = closed.with_key(key.text)
    headers = {"Accept": "application/json, text/event-stream"}
    # Nobody dispatches here: the call would be waited for until ``mcp_wait_seconds`` are over.
    asked = {"name": "put", "arguments": {"name": "a"}}
    listed = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    assert client.post("/mcp", json=listed, headers=headers).status_code == 200
    revoke_key(closed.owner, key.id)
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked}
    answer = client.post("/mcp", json=call, headers=headers)
    assert (answer.status_code, "unauthorised" in answer.text) == (200, True)
