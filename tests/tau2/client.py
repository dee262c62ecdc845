"""The gateway's HTTP interface, as a runtime calls it that outlives the gateway."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import httpx2

PATIENCE = 60.0
"""Seconds for which a gateway that does not answer is asked again."""

PAUSE = 0.02
"""Seconds between two looks at the same thing."""

AWAY = 0.2
"""Seconds between two tries to reach a gateway that is away."""


class GatewayGone(Exception):
    """No answer: the gateway is away, or was killed while it worked on the request."""


class Answer(NamedTuple):
    status: int
    body: dict[str, Any]

    @property
    def code(self) -> object:
        """The code of a problem."""
        return self.body.get("code")


class Client:
    """``url``: where the gateway is now; it may be another after a restart. ``counts``: what its absence cost."""

    def __init__(self, url: Callable[[], str]) -> None:
        self._url = url
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(30.0), limits=httpx2.Limits(max_connections=64), trust_env=False
        )
        self.counts: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def once(self, method: str, path: str, body: bytes | None = None) -> Answer:
        """One try. Raises GatewayGone."""
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            response = await self._http.request(method, self._url() + path, content=body, headers=headers)
        except httpx2.TransportError as error:
            self.counts["unanswered"] += 1
            raise GatewayGone(f"{method} {path}: {error!r}") from error
        return Answer(response.status_code, response.json())

    async def insist(self, method: str, path: str, body: bytes | None = None) -> Answer:
        """The same request until it is answered, for ``PATIENCE`` seconds. Raises GatewayGone after that."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return await self.once(method, path, body)
            except GatewayGone:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(AWAY)

    async def get(self, path: str) -> dict[str, Any]:
        return _good(path, await self.insist("GET", path))

    async def post(self, path: str, body: object) -> dict[str, Any]:
        return _good(path, await self.insist("POST", path, json.dumps(body).encode()))


def _good(path: str, answer: Answer) -> dict[str, Any]:
    assert answer.status < 300, f"{path}: {answer.status} {answer.body}"
    return answer.body
