"""Answers that come before the body was read reach clients that still write it."""

import asyncio
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send

from gateway.http.draining import Draining
from tests.gateway.http.front import BODY_LIMIT, Front, problem

JSON = {"Content-Type": "application/json"}
# More than the sockets of both ends hold.
MUCH = 16 * 1024 * 1024


def _pieces() -> Iterator[bytes]:
    for _ in range(MUCH // 65536):
        yield b" " * 65536


@pytest.mark.parametrize("path", ["/v1/streams", "/mcp"])
@pytest.mark.parametrize("close", [True, False])
def test_httpx2_shows_the_problem(front: Front, path: str, close: bool) -> None:
    headers = {**JSON, "Connection": "close" if close else "keep-alive"}
    for content in (b" " * MUCH, _pieces()):
        answer = httpx2.post(front.url + path, content=content, headers=headers, timeout=30)
        assert answer.status_code == 413
        assert "body_too_large" in answer.text


def test_a_client_that_still_wrote_was_reset_and_never_saw_the_413(front: Front) -> None:
    # It asks for the connection to be closed, and looks for no answer once a write failed.
    asked = urllib.request.Request(front.url + "/v1/streams", data=b" " * MUCH, headers=JSON)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked, timeout=30)
    with refused.value as answer:
        assert (answer.status, b"body_too_large" in answer.read()) == (413, True)


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
@pytest.mark.parametrize("more", [[], ["-H", "Expect:"], ["-H", "Connection: close", "-H", "Expect:"]])
def test_curl_shows_the_problem(front: Front, tmp_path: Path, more: list[str]) -> None:
    body = tmp_path / "body"
    body.write_bytes(b" " * MUCH)
    command = ["curl", "-sS", "-H", "Content-Type: application/json", "--data-binary", f"@{body}", *more]
    told = subprocess.run([*command, front.url + "/v1/streams"], capture_output=True, text=True, timeout=60)
    assert (told.returncode, told.stderr, "body_too_large" in told.stdout) == (0, "", True)


def test_after_a_small_body_that_was_not_wanted_the_connection_serves_on(front: Front) -> None:
    with httpx2.Client(base_url=front.url) as client:
        for _ in range(2):
            answer = client.post("/v1/streams", content=b" " * BODY_LIMIT * 2, headers=JSON)
            assert problem(answer) == (413, "body_too_large")
            assert "connection" not in answer.headers
        assert client.get("/healthz").status_code == 200


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 413, "headers": []})
    await send({"type": "http.response.body", "body": b"no"})


def _answered(receive: Receive, headers: dict[str, str], **bounds: float) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": [(n.encode(), v.encode()) for n, v in headers.items()]}
    asyncio.run(Draining(_refuse, **bounds)(scope, receive, send))  # type: ignore[arg-type]
    return sent


def test_a_body_without_end_is_read_to_a_bound_and_the_connection_closed() -> None:
    read = 0

    async def endless() -> Message:
        nonlocal read
        read += 1000
        return {"type": "http.request", "body": b" " * 1000, "more_body": True}

    [start, first, last] = _answered(endless, {"transfer-encoding": "chunked"}, left_bytes=10_000)
    assert (b"connection", b"close") in start["headers"]
    assert (first["body"], first["more_body"], last["body"], last["more_body"]) == (b"no", True, b"", False)
    assert read == 10_000


def test_a_client_that_sends_nothing_is_waited_for_a_bounded_time() -> None:
    async def silent() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    began = time.monotonic()
    sent = _answered(silent, {"content-length": "10"}, left_seconds=0.05)
    assert [message.get("body") for message in sent[1:]] == [b"no", b""]
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "headers", [{}, {"content-length": "0"}, {"content-length": "9", "expect": "100-continue"}]
)
def test_no_body_is_waited_for_that_does_not_come_by_itself(headers: dict[str, str]) -> None:
    async def never() -> Message:
        raise AssertionError("asked for a body")

    assert len(_answered(never, headers)) == 2
