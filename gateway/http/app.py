"""The FastAPI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio.to_thread import current_default_thread_limiter
from fastapi import Depends, FastAPI
from starlette.routing import Route

from gateway.http import (
    approvals,
    dispatch,
    doubts,
    effects,
    events,
    health,
    intents,
    log,
    metrics,
    streams,
    unbuilt,
)
from gateway.http.caller import call_of, identify
from gateway.http.document import describe
from gateway.http.doors import Doors
from gateway.http.draining import Draining
from gateway.http.following import Followers
from gateway.http.guard import Guard
from gateway.http.problems import answer_with_problems
from gateway.http.settings import HttpSettings
from gateway.mcp.endpoint import PATH, McpEndpoint
from gateway.service.services import Services
from gateway.version import version

_DESCRIPTION = """The gate between a language model and the tools it calls.

Every error is a problem document (RFC 9457) whose `code` is stable. Callers send `Authorization: Bearer KEY`; a key acts in
one tenant under the roles that it holds. On loopback, and while no key was ever made, the gateway runs open instead: every
caller holds every role, an `Authorization` header is not looked at; `Host` and `Origin` are checked."""


def create_app(services: Services, settings: HttpSettings) -> FastAPI:
    """The HTTP interface of ``services``. Closing them is for the caller.

    A server that ends sets ``app.state.stopping`` to a function that says so: requests that wait are then answered at once.
    """

    mcp = McpEndpoint(call_of, settings.body_limit, version())

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = settings.threads
        async with mcp.running():
            yield

    app = FastAPI(
        title="Commitgate",
        version=version(),
        description=_DESCRIPTION,
        lifespan=lifespan,
        openapi_url="/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Also of routes that do not ask who calls: none is left open by an oversight.
        dependencies=[Depends(identify)],
    )
    app.state.services = services
    app.state.settings = settings
    app.state.doors = None if services is None else Doors(services.keyring, settings)
    app.state.followers = Followers(
        lambda streams: services.heads(streams),
        poll_seconds=settings.poll_seconds,
        limit=settings.live_streams,
    )
    app.state.stopping = lambda: False
    for part in (
        streams,
        events,
        intents,
        effects,
        doubts,
        approvals,
        dispatch,
        log,
        health,
        metrics,
        unbuilt,
    ):
        app.include_router(part.router)
    app.router.routes.append(Route(PATH, endpoint=mcp, include_in_schema=False))
    answer_with_problems(app)
    describe(app)
    app.add_middleware(Guard, doors=lambda: app.state.doors, hosts=settings.hosts, origins=settings.origins)
    app.add_middleware(Draining)
    return app
