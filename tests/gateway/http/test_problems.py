import dataclasses
import json
import socket
from collections.abc import Iterator

import httpx2
import pytest

from gateway.http.app import create_app
from gateway.http.settings import HttpSettings
from gateway.wiring import services_over, wire
from ledger.connect import check_service_login, connect
from tests.gateway.http.front import BODY_LIMIT, Front, problem, serving

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/nothing", (404, "not_found")),
        ("GET", "/v1/streams/", (404, "not_found")),
        ("POST", "/v1/reconciliations", (422, "not_supported")),
        ("POST", "/v1/ledger/events", (405, "method_not_allowed")),
        ("GET", "/docs", (404, "not_found")),
        ("GET", "/v1/streams", (405, "method_not_allowed")),
        ("DELETE", "/v1/streams/x", (405, "method_not_allowed")),
        ("PUT", "/healthz", (405, "method_not_allowed")),
    ],
)
def test_what_is_not_served(front: Front, method: str, path: str, expected: tuple[int, str]) -> None:
    assert problem(front.client.request(method, path)) == expected


def test_says_which_methods_are_allowed(front: Front) -> None:
    assert front.client.delete("/healthz").headers["Allow"] == "GET"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_bodies_come_as_json_in_utf8(front: Front, headers: dict[str, str]) -> None:
    answer = front.client.post("/v1/streams", content=b"{}", headers=headers)
    assert problem(answer) == (415, "unsupported_media_type")


def test_a_charset_may_be_named(front: Front) -> None:
    raw = json.dumps({"tool_calls": {"format": "hermes", "from": "posted"}})
    headers = {"Content-Type": 'application/json; charset="UTF-8"'}
    assert front.client.post("/v1/streams", content=raw, headers=headers).status_code == 201


def test_a_body_at_the_limit_is_read(front: Front) -> None:
    raw = json.dumps({"tool_calls": {"format": "hermes", "from": "posted"}}).encode()
    fits = raw + b" " * (BODY_LIMIT - len(raw))
    assert front.client.post("/v1/streams", content=fits, headers=JSON).status_code == 201
    assert problem(front.client.post("/v1/streams", content=fits + b" ", headers=JSON)) == (
        413,
        "body_too_large",
    )


def test_a_body_without_a_length_is_bounded_while_it_is_read(front: Front) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(BODY_LIMIT // 1024 + 2):
            yield b" " * 1024

    answer = front.client.post("/v1/streams", content=pieces(), headers=JSON)
    assert problem(answer) == (413, "body_too_large")


def test_an_announced_length_is_refused_before_the_body_comes(front: Front) -> None:
    host, _, port = front.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(
            f"POST /v1/streams HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {10**15}\r\n\r\n".encode()
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


def test_an_error_of_ours_shows_nothing_of_itself(front: Front) -> None:
    def fail() -> None:
        raise RuntimeError("secret")

    broken = dataclasses.replace(front.services, ready=fail)
    with serving(create_app(broken, HttpSettings())) as served:
        answer = httpx2.get(served.url + "/readyz")
    assert problem(answer) == (500, "internal_error")
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/readyz"),
        ("GET", "/v1/streams/k"),
        ("GET", "/v1/effects"),
        ("GET", "/v1/doubts"),
        ("GET", "/v1/ledger/events"),
        ("GET", "/v1/ledger/checkpoint"),
        ("POST", "/v1/streams"),
    ],
)
def test_a_database_that_does_not_answer(method: str, path: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        engine = connect(f"postgresql+psycopg://u@127.0.0.1:{closed.getsockname()[1]}/d")
        services = services_over(wire(engine), ready=lambda: check_service_login(engine))
        with serving(create_app(services, HttpSettings())) as served:
            assert httpx2.get(served.url + "/healthz").json() == {"status": "ok"}
            body = {"tool_calls": {"format": "hermes", "from": "posted"}} if method == "POST" else None
            answer = httpx2.request(method, served.url + path, json=body)
    assert problem(answer) == (503, "unavailable")
    assert answer.headers["Retry-After"] == "1"
    assert "127.0.0.1" not in answer.json()["detail"]


def test_is_ready(front: Front) -> None:
    assert front.client.get("/readyz").json() == {"status": "ok"}


def test_a_key_is_not_looked_at_while_none_exist(front: Front) -> None:
    assert front.client.get("/v1/effects", headers={"Authorization": "Bearer nonsense"}).status_code == 200
