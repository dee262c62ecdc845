"""The shop over HTTP: ``POST /tools/NAME`` with the arguments as the body; ``GET /tools``, ``GET /healthz``.

2xx: the answer. 4xx: ``{"error": code, "detail": text}``, the shop's own refusal, nothing done.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from examples.shop.counter import Counter
from examples.shop.request_log import Request as Asked
from examples.shop.signatures import signatures


@dataclass(frozen=True, slots=True)
class Latency:
    """A tool's artificial slowness, seconds: ``before`` it acts, and ``after``, before the answer leaves."""

    before: float = 0.0
    after: float = 0.0


Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


def make_app(counter: Counter, latencies: Mapping[str, Latency], lifespan: Lifespan | None = None) -> FastAPI:
    """The shop's HTTP application. ``latencies`` by tool name, ``*`` for all others."""
    app = FastAPI(title="shop", lifespan=lifespan, openapi_url=None)
    unhurried = Latency()

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/tools")
    async def tools() -> list[dict[str, object]]:
        return [asdict(tool) for tool in signatures()]

    @app.post("/tools/{name}")
    async def call(name: str, request: Request) -> Response:
        asked = Asked(
            tool=name,
            commit_key=request.headers.get("commit-key"),
            intent_id=request.headers.get("intent-id"),
            idempotency_key=request.headers.get("idempotency-key"),
            traceparent=request.headers.get("traceparent"),
            body=await request.body(),
        )
        latency = latencies.get(name) or latencies.get("*") or unhurried
        n = await asyncio.to_thread(counter.receive, asked)
        await asyncio.sleep(latency.before)
        outcome = await asyncio.to_thread(counter.serve, n, asked)
        await asyncio.sleep(latency.after)
        return JSONResponse(outcome.answer, outcome.status)

    return app
