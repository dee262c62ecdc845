"""Who calls, and what is called: given to every route.

No keys exist yet, so the gateway runs open: everybody holds every role in one tenant, and an ``Authorization`` header is
not looked at. ``gateway.http.guard`` keeps web pages and other names than this machine's out.
"""

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from gateway.http.settings import HttpSettings
from gateway.principal import Principal, everyone
from gateway.service.services import Services


@dataclass(frozen=True, slots=True)
class Call:
    """One request's principal, the services that it calls, and the front's settings."""

    principal: Principal
    services: Services
    settings: HttpSettings


async def _call(request: Request) -> Call:
    state = request.app.state
    settings = cast("HttpSettings", state.settings)
    return Call(everyone(settings.tenant), cast("Services", state.services), settings)


Caller = Annotated[Call, Depends(_call)]
"""The type of a route's parameter that takes the call."""
