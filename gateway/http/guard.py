"""Keeps other machines' names and other sites' pages away from a gateway that runs open. One that asks for keys needs no
guard: no page of another site can send one.

A page in a browser on this machine can send requests to loopback, and by rebinding a name of its own it can read the
answers too. So ``Host`` must be a name of this machine (or one that is allowed), and ``Origin``, which browsers add and
pages cannot forge, must be the gateway's own (or one that is allowed).
"""

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.errors import ForbiddenHost, ForbiddenOrigin, GatewayError
from gateway.http.doors import Doors
from gateway.http.problems import problem_of, response

_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_loopback(host: str) -> bool:
    """Whether a host name or address (no port, IPv6 without brackets) is this machine's loopback."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """ASGI middleware: refuses requests, and handshakes of web sockets, by ``Host`` and ``Origin`` while ``doors`` are open."""

    def __init__(
        self,
        app: ASGIApp,
        doors: Callable[[], Doors],
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
    ) -> None:
        self._app = app
        self._doors = doors
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with a problem."""
        if scope["type"] in ("http", "websocket") and not self._doors().known_closed:
            try:
                self._check(Headers(scope=scope))
            except GatewayError as error:
                # Asked only before a refusal: a look at the health of the process must not wait for the database.
                if not await self._doors().closed():
                    await _refuse(error, scope, receive, send)
                    return
        await self._app(scope, receive, send)

    def _check(self, headers: Headers) -> None:
        given = headers.getlist("host")
        authority = _authority(f"//{given[0]}") if len(given) == 1 else None
        if authority is None or not (is_loopback(authority[0]) or authority[0] in self._hosts):
            raise ForbiddenHost("the Host header must name this gateway")
        for origin in headers.getlist("origin"):
            if origin.lower() not in self._origins and not _same(origin, authority):
                raise ForbiddenOrigin("this gateway does not serve pages of other origins")


async def _refuse(error: GatewayError, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": error.stable_code})
    else:
        await response(problem_of(error))(scope, receive, send)


def _same(origin: str, authority: tuple[str, int | None]) -> bool:
    scheme = origin.partition("://")[0].lower()
    own = _authority(origin)
    if own is None or scheme not in _DEFAULT_PORTS:
        return False
    default = _DEFAULT_PORTS[scheme]
    return own[0] == authority[0] and (own[1] or default) == (authority[1] or default)


def _authority(url: str) -> tuple[str, int | None] | None:
    """(host, port) of a URL that has nothing but an authority; None if it has more, or cannot be read."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    extra = parts.path or parts.query or parts.fragment or "@" in parts.netloc
    return None if extra or not parts.hostname else (parts.hostname, port)
