"""Who calls, and what is called: given to every route.

``gateway.http.access`` says which role may call what, ``gateway.http.doors`` who somebody is.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request
from sqlalchemy.exc import SQLAlchemyError

from gateway.http.doors import Doors
from gateway.http.following import Followers
from gateway.http.settings import HttpSettings
from gateway.principal import Principal
from gateway.service.services import Services
from gateway.traceparent import parsed_traceparent
from ledger.errors import LedgerError


@dataclass(frozen=True, slots=True)
class Call:
    """One request's principal, the services that it calls, and of the front: its settings, who follows streams in it, and
    whether it is about to end. ``traceparent``: W3C trace context that the request came with. ``asked_again``: who the caller
    is by now."""

    principal: Principal
    services: Services
    settings: HttpSettings
    followers: Followers
    stopping: Callable[[], bool]
    traceparent: str | None
    asked_again: Callable[[], Awaitable[Principal]]

    async def still_admitted(self) -> None:
        """For answers that take long: raises ``Unauthorised`` where the caller's key is no longer good.

        While the database is away, what was known stays true.
        """
        try:
            await self.asked_again()
        except (LedgerError, SQLAlchemyError):
            return


async def identify(request: Request) -> Principal:
    """Who sends the request, and may call its route. Raises ``Unauthorised``, ``Forbidden``."""
    known: Principal | None = getattr(request.state, "principal", None)
    if known is not None:
        return known
    request.state.principal = principal = await _admit(request)
    return principal


async def _admit(request: Request) -> Principal:
    path = str(getattr(request.scope.get("route"), "path", request.scope["path"]))
    doors = cast("Doors", request.app.state.doors)
    return await doors.admit(request, path)


async def call_of(request: Request) -> Call:
    """The call that the request makes. Raises what ``identify`` raises."""
    state = request.app.state
    return Call(
        principal=await identify(request),
        services=cast("Services", state.services),
        settings=cast("HttpSettings", state.settings),
        followers=cast("Followers", state.followers),
        stopping=cast("Callable[[], bool]", state.stopping),
        traceparent=parsed_traceparent(request.headers.get("traceparent")),
        asked_again=lambda: _admit(request),
    )


Caller = Annotated[Call, Depends(call_of)]
"""The type of a route's parameter that takes the call."""
