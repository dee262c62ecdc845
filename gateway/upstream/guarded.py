"""HTTP clients that go only where a table allows: by host when a request is made, by address when a connection is.

A name is resolved once, each address that comes of it is judged (``effects.outbound``), and the connection is made to one of
those very addresses: between check and use there is nothing left to rebind. TLS still asks for the name. Redirects, cookies
and the environment's proxies are ignored.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpcore2
import httpx2
from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream

from effects.outbound import Outbound
from gateway.upstream.authorities import authorities

ADDRESS_REFUSED = "address_refused"
"""Code of a call that was not sent because of where it would have gone."""

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The addresses of a host, in the order of preference; raises OSError."""


class AddressRefused(httpcore2.ConnectError):
    """The table does not allow the host or its address. Nothing was sent."""

    def __init__(self, host: str, why: str) -> None:
        """``why``: as ``Outbound.refuses`` says."""
        super().__init__(f"requests to {host} are refused: {why}")
        self.why = why


def was_refused(error: BaseException | None) -> bool:
    """Whether an exception of a guarded client means that nothing was sent because of where it would have gone."""
    while error is not None:
        if isinstance(error, AddressRefused):
            return True
        error = error.__cause__ or error.__context__
    return False


async def resolve(host: str, port: int) -> list[str]:
    """The addresses that the system knows for ``host``."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def guarded_client(
    outbound: Outbound,
    *,
    hosts: Collection[str] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
    keep_alive: bool = True,
    resolve: Resolve = resolve,
) -> httpx2.AsyncClient:
    """A client under ``outbound``. ``hosts``: the only ones that it asks (None: whichever it is told to).

    A connection is judged when it is made: clients of tables that allow different things must not be the same. What is
    refused is an exception of httpx2 of which ``was_refused`` says so.
    """
    transport = GuardedTransport(outbound, hosts=hosts, keep_alive=keep_alive, resolve=resolve)
    return client_over(transport, headers=headers, timeout=timeout or httpx2.Timeout(5.0), auth=auth)


def client_over(
    transport: httpx2.AsyncBaseTransport,
    *,
    headers: Mapping[str, str] | None,
    timeout: httpx2.Timeout,
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    """A client that goes where its transport does and nowhere else: no redirect, cookie or proxy leads it."""
    return httpx2.AsyncClient(
        transport=transport,
        headers=headers,
        timeout=timeout,
        auth=auth,
        follow_redirects=False,
        trust_env=False,
        # A cookie that one call's answer sets must not travel with the next call, which may be another tenant's.
        cookies=CookieJar(policy=DefaultCookiePolicy(allowed_domains=[])),
    )


class GuardedTransport(httpx2.AsyncHTTPTransport):
    """The usual transport over a pool whose connections are judged; as ``guarded_client``."""

    def __init__(
        self,
        outbound: Outbound,
        *,
        hosts: Collection[str] | None = None,
        keep_alive: bool = True,
        resolve: Resolve = resolve,
    ) -> None:
        """See the class."""
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None if keep_alive else 0)
        super().__init__(verify=authorities(), trust_env=False, limits=limits)
        self._outbound = outbound
        self._hosts = None if hosts is None else frozenset(host.lower() for host in hosts)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=authorities(),
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_Judged(outbound, resolve),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request, if its host may be asked at all."""
        host = request.url.host.lower()
        if self._hosts is not None and host not in self._hosts:
            raise httpx2.ConnectError("the host is not declared") from AddressRefused(host, "not_declared")
        if (why := self._outbound.refuses_name(host)) is not None:
            raise httpx2.ConnectError("the host is refused") from AddressRefused(host, why)
        return await super().handle_async_request(request)


class _Judged(AsyncNetworkBackend):
    """Connects to addresses that were judged, and to nothing else."""

    def __init__(self, outbound: Outbound, resolve: Resolve) -> None:
        self._outbound = outbound
        self._resolve = resolve
        self._backend = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._judged(host, port)
                return await self._first(addresses, port, local_address, socket_options)
        except TimeoutError as error:
            raise httpcore2.ConnectTimeout(str(error)) from error

    async def _judged(self, host: str, port: int) -> list[str]:
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(str(error)) from error
        for address in addresses:
            # One bad address condemns the name: it is how a rebinding name looks in the middle of the change.
            if (why := self._outbound.refuses(host, address)) is not None:
                raise AddressRefused(host, why)
        return addresses

    async def _first(
        self, addresses: list[str], port: int, local: str | None, options: Iterable[Any] | None
    ) -> AsyncNetworkStream:
        failure: Exception = httpcore2.ConnectError("the name has no address")
        for address in addresses:
            try:
                return await self._backend.connect_tcp(
                    address, port, local_address=local, socket_options=options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002 - the port's
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002 - the port's
    ) -> AsyncNetworkStream:
        raise AddressRefused(path, "unix_socket")

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)
