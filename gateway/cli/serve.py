"""``commitgate serve`` and ``commitgate worker``: the processes that stay."""

import signal
import socket
import threading
from typing import Annotated

import typer
import uvicorn

from gateway.cli.output import say, write_line
from gateway.database import database
from gateway.errors import Forbidden, Unavailable
from gateway.http.app import create_app
from gateway.http.settings import HttpSettings
from gateway.logs import configure_logs
from gateway.running import dispatcher_over
from gateway.service.services import Services
from gateway.settings import Settings
from gateway.wiring import wire
from ledger.access.duty import Duty
from ledger.access.login import check_login

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free one.")] = 8700,
    dispatch: Annotated[
        bool, typer.Option("--dispatch/--no-dispatch", help="Run a dispatcher inside.")
    ] = True,
) -> None:
    """Run the gateway, with a dispatcher inside unless --no-dispatch."""
    if host not in LOOPBACK:
        raise Forbidden(f"without keys the gateway runs open and listens on loopback only, not on {host}")
    settings = Settings()
    configure_logs()
    needs = (Duty.WRITER, Duty.SEALER, *([Duty.DISPATCHER] if dispatch else []))
    with database(settings, "commitgate-gateway", needs) as engine:
        running = dispatcher_over(engine, settings) if dispatch else None
        wake = (lambda: None) if running is None else running.wake
        wired = wire(engine, wake=wake, notify=settings.notify)
        services = Services(
            streams=wired.streams,
            intents=wired.intents,
            tables=wired.tables,
            doubts=wired.doubts,
            ready=lambda: _ignore(check_login(engine, needs)),
        )
        say(
            f"open: no keys exist, so every caller on this machine may do everything in tenant {settings.tenant!r}"
        )
        app = create_app(services, HttpSettings(body_limit=settings.body_limit, tenant=settings.tenant))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        app.state.stopping = lambda: server.should_exit
        listening = _listen(host, port)
        for name in (signal.SIGINT, signal.SIGTERM):
            # uvicorn raises the signal once more when it has ended; what is below must still run then.
            signal.signal(name, lambda *_: None)
        if running is not None:
            running.start()
        try:
            write_line({"listening": _url(listening)})
            server.run(sockets=[listening])
        finally:
            if running is not None:
                running.stop()


def worker() -> None:
    """Run a dispatcher alone; run as many as you like."""
    settings = Settings()
    configure_logs()
    with database(settings, "commitgate-worker", (Duty.DISPATCHER,)) as engine:
        running = dispatcher_over(engine, settings)
        ended = threading.Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: ended.set())
        running.start()
        write_line({"dispatching": running.worker_id})
        ended.wait()
        running.stop()


def _ignore(_held: object) -> None:
    return None


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sets TCP_NODELAY only then; without it answers wait 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
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
