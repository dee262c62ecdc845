"""``commitgate serve``: the gateway."""

import signal
import socket
from typing import Annotated

import typer
import uvicorn

from gateway import failpoints
from gateway.cli.output import say, write_line
from gateway.cli.staying import begin, watch
from gateway.database import database
from gateway.errors import OpenRefused, Unavailable
from gateway.http.app import create_app
from gateway.http.guard import is_loopback
from gateway.http.settings import HttpSettings
from gateway.metrics import Meter
from gateway.running import dispatcher_over
from gateway.sealing import sealing
from gateway.service.keyring import Keyring
from gateway.settings import Settings
from gateway.upstream.mcp.definitions import Quarantine
from gateway.wiring import services_over, wire
from ledger.access.duty import Duty
from ledger.access.login import check_login

CLIENT_SILENCE_MS = 60_000
"""Milliseconds for which a client may leave bytes unacknowledged."""


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free one.")] = 8700,
    dispatch: Annotated[
        bool, typer.Option("--dispatch/--no-dispatch", help="Run a dispatcher inside.")
    ] = True,
) -> None:
    """Run the gateway, with a dispatcher inside unless --no-dispatch."""
    settings = Settings()
    begin(settings, "commitgate-gateway")
    needs = (Duty.WRITER, *([Duty.DISPATCHER] if dispatch else []), _of_the_log(settings))
    with database(settings, "commitgate-gateway", needs) as engine:
        failpoints.watch(engine)
        quarantine, meter = Quarantine(), Meter(engine)
        running = dispatcher_over(engine, settings, quarantine, observer=meter.tally) if dispatch else None
        wake = (lambda: None) if running is None else running.wake
        wired = wire(engine, wake=wake, notify=settings.notify, observer=meter.tally, local=settings.local)
        services = services_over(wired, ready=lambda: _ignore(check_login(engine, needs)), metrics=meter.text)
        may_open = _doors(services.keyring, settings, host)
        http = HttpSettings(body_limit=settings.body_limit, tenant=settings.tenant, may_open=may_open)
        app = create_app(services, http)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        app.state.stopping = lambda: server.should_exit
        meter.watch(
            "commitgate_live_streams", "Live event streams open here.", lambda: app.state.followers.count
        )
        watch(meter, quarantine)
        listening = _listen(host, port)
        for name in (signal.SIGINT, signal.SIGTERM):
            # uvicorn raises the signal once more when it has ended; what is below must still run then.
            signal.signal(name, lambda *_: None)
        with sealing(engine, settings, meter):
            if running is not None:
                running.start()
            try:
                write_line({"listening": _url(listening)})
                server.run(sockets=[listening])
            finally:
                if running is not None:
                    running.stop()
                services.keyring.close()


def _doors(keyring: Keyring, settings: Settings, host: str) -> bool:
    """Whether the gateway may run open; says so loudly where it does. Raises ``OpenRefused``."""
    loopback, closed = is_loopback(host), keyring.any()
    if not closed and not loopback:
        raise OpenRefused(
            f"no key was ever made, so the gateway would run open: it listens on loopback only, not on {host}."
            " Make one first: commitgate keys create --role runtime"
        )
    if not closed:
        say(
            f"WARNING: open: no keys exist, so every caller on this machine may do everything in tenant {settings.tenant!r};"
            " the first key (commitgate keys create) closes it"
        )
    return loopback


def _ignore(_held: object) -> None:
    return None


def _of_the_log(settings: Settings) -> Duty:
    """A gateway reads the log also where it does not seal."""
    return Duty.SEALER if settings.seal else Duty.RECONCILER


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sets TCP_NODELAY only then; without it answers wait 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Connections inherit it: a client that vanished, or reads no more, is let go, whatever waits for it.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, CLIENT_SILENCE_MS)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise Unavailable(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return listening


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if listening.family is socket.AF_INET6 else f"http://{host}:{port}"
