import pytest

from gateway.http.guard import is_loopback
from gateway.http.settings import HttpSettings
from tests.gateway.http.front import Front, problem
from tests.gateway.http.front import front as running_front
from tests.postgres import TestDatabase


def own(front: Front) -> str:
    return front.url.removeprefix("http://")


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "127.8.8.8:1", "[::1]", "[::1]:8700", "LOCALHOST:80"]
)
def test_serves_names_of_loopback(front: Front, host: str) -> None:
    assert front.client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "a@127.0.0.1",
        "127.0.0.1:x",
        "127.0.0.1/x",
        "0.0.0.0",
    ],
)
@pytest.mark.parametrize("path", ["/healthz", "/openapi.json", "/nothing"])
def test_serves_no_other_name(front: Front, host: str, path: str) -> None:
    assert problem(front.client.get(path, headers={"Host": host})) == (403, "forbidden_host")


def test_serves_pages_of_its_own_origin(front: Front) -> None:
    assert front.client.get("/healthz", headers={"Origin": front.url}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "https://evil.example",
        "http://localhost:1",
        "http://127.0.0.1",
        "file://",
        "http://127.0.0.1.evil.example",
    ],
)
def test_serves_no_page_of_another_origin(front: Front, origin: str) -> None:
    rows = front.rows()
    answer = front.client.post(
        "/v1/streams", json={"tool_calls": {"format": "hermes", "from": "posted"}}, headers={"Origin": origin}
    )
    assert problem(answer) == (403, "forbidden_origin")
    assert front.rows() == rows


def test_more_names_and_origins_can_be_allowed(database: TestDatabase) -> None:
    settings = HttpSettings(hosts=frozenset({"Gate.Example"}), origins=frozenset({"https://console.example"}))
    with running_front(database, settings) as front:
        headers = {"Host": "gate.example:443", "Origin": "https://console.example"}
        assert front.client.get("/healthz", headers=headers).status_code == 200
        assert (
            front.client.get("/healthz", headers={**headers, "Origin": "https://gate.example"}).status_code
            == 200
        )
        other = front.client.get("/healthz", headers={**headers, "Origin": "https://other.example"})
        assert problem(other) == (403, "forbidden_origin")


def test_knows_loopback() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.1.2.3", "::1"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.1", "example.org", ""]))
