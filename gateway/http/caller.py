"""Who calls, and what is called: given to every route.

No keys exist yet, so the gateway runs open: everybody holds every role in one tenant, and an ``Authorization`` header is
not looked at. ``gateway.http.guard`` keeps web pages and other names than this machine's out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from gateway.http.following import Followers
from gateway.http.settings import HttpSettings
from gateway.principal import Principal, everyone
from gateway.service.services import Services


@dataclass(frozen=True, slots=True)
class Call:
    """One request's principal, the services that it calls, and of the front: its settings, who follows streams in it, and
    whether it is about to end."""

    principal: Principal
    services: Services
    settings: HttpSettings
    followers: Followers
    stopping: Callable[[], bool]


async def identify(request: Request) -> Principal:
    """Who sends the request."""
    return everyone(cast("HttpSettings", request.app.state.settings).tenant)


async def _call(request: Request) -> Call:
    state = request.app.state
    settings = cast("HttpSettings", state.settings)
    return Call(
        principal=await identify(request),
        services=cast("Services", state.services),
        settings=settings,
        followers=cast("Followers", state.followers),
        stopping=cast("Callable[[], bool]", state.stopping),
    )


Caller = Annotated[Call, Depends(_call)]
"""The type of a route's parameter that takes the call."""
