"""What is running in a crash test: one Postgres, one gateway, one dispatcher, one tool server; each can be killed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from gateway.failpoints import FAIL_AT, HOLD, SWITCH
from gateway.principal import everyone
from gateway.service.tables import EffectTables
from gateway.wiring import utc_now
from ledger.append import Ledger
from ledger.connect import connect
from ledger.errors import LedgerError
from ledger.events import Event
from ledger.state import StreamState
from tests.crash import plan
from tests.crash.children import Children
from tests.crash.forked import Forked, Zygote
from tests.crash.runtime import Runtime
from tests.crash.upstreams import effect_table
from tests.crash.world import DIES_AT, read_log
from tests.failover.servers import DATABASE, Server
from tests.gateway.toolserver import eventually, free_port

TENANT = "default"
EVERYTHING = 100_000


class Stage:
    """``numbers`` names streams apart. Close it at the end."""

    def __init__(self, folder: Path, zygote: Zygote, postgres: Server) -> None:
        self.zygote = zygote
        self.postgres = postgres
        self.folder = folder
        self.numbers = count(1)
        self.tool_port, gateway_port = free_port(), free_port()
        self._gateway_port = str(gateway_port)
        url = postgres.database(DATABASE).service_url
        self.environ = {
            "COMMITGATE_DATABASE_URL": url,
            "COMMITGATE_HOME": str(folder),
            "COMMITGATE_SEAL": "false",
            "COMMITGATE_POOL_SIZE": "6",
            "COMMITGATE_LEASE_SECONDS": "0.3",
            "COMMITGATE_LEASE_MARGIN": str(plan.MARGIN),
            "COMMITGATE_SWEEP_SECONDS": str(plan.SWEEP),
            "COMMITGATE_LATE_WAIT_SECONDS": str(plan.LATE),
        }
        self._engine = connect(url)
        self.ledger = Ledger(self._engine, clock=utc_now)
        self.runtime = Runtime(f"http://127.0.0.1:{gateway_port}")
        self._local = False
        self._server: Forked | None = None
        self._dispatchers: list[Forked] = []
        self._children = Children(folder, lambda: {one.pid for one in self._dispatchers if one.alive})
        self.tool: Forked | Children = self.new_tool()
        self.gateway = self.new_gateway()
        self.dispatcher: Forked | None = None

    def in_force(self, upstream: str) -> None:
        """Let the tools be reached over this kind of upstream."""
        table = effect_table(upstream, f"http://127.0.0.1:{self.tool_port}", self.folder)
        EffectTables(self.ledger, utc_now).apply(everyone(TENANT), table)
        self._local = upstream in plan.LOCAL
        self.new_tool()

    def new_tool(self, die_at: str | None = None) -> Forked | Children:
        """Start the tool server; or leave it to the dispatchers, where they do that. ``die_at``: ``POINT:N``."""
        told = self.folder / DIES_AT
        told.unlink(missing_ok=True)
        if die_at is not None:
            told.write_text(die_at)
        if self._local:
            self.tool = self._children
            return self.tool
        if self._server is not None:
            self._server.kill()
        self._server = self.tool = self.zygote.tool(folder=str(self.folder), port=self.tool_port)
        return self.tool

    def new_gateway(self, arming: Mapping[str, str] | None = None, planted: str | None = None) -> Forked:
        arguments = ("serve", "--port", self._gateway_port, "--no-dispatch")
        self.gateway = self.zygote.command(
            *arguments, environ=self.environ | dict(arming or {}), planted=planted
        )
        return self.gateway

    def new_dispatcher(
        self, arming: Mapping[str, str] | None = None, planted: str | None = None, *, ready: bool = True
    ) -> Forked:
        environ = self.environ | dict(arming or {})
        self.dispatcher = self.zygote.command("worker", environ=environ, planted=planted, ready=ready)
        self._dispatchers.append(self.dispatcher)
        return self.dispatcher

    def end_dispatchers(self) -> None:
        """Kill every dispatcher that was ever started here."""
        while self._dispatchers:
            self._dispatchers.pop().kill()

    def arming(self, point: str, nth: int, hold: Path | None = None) -> dict[str, str]:
        """The environment of a process that is to end, or stand still, at a fail point."""
        told = {SWITCH: "1", FAIL_AT: f"{point}:{nth}"}
        return told if hold is None else told | {HOLD: str(hold)}

    def quiet_tool(self) -> None:
        """Wait until the tool has done all that ever reached it."""
        import httpx2

        httpx2.get(f"http://127.0.0.1:{self.tool_port}/idle", timeout=20, trust_env=False).raise_for_status()
        self._children.quiet()

    def log(self) -> list[dict[str, object]]:
        return read_log(self.folder)

    def state(self, commit_key: str) -> StreamState | None:
        """None while the database is away."""
        with suppress(LedgerError):
            return self.ledger.read(TENANT, commit_key)
        return None

    def events(self, commit_key: str) -> list[Event]:
        def there() -> list[Event] | None:
            with suppress(LedgerError):
                return self.ledger.events(TENANT, commit_key, after=0, limit=EVERYTHING)
            return None

        return eventually(there)

    def close(self) -> None:
        self.end_dispatchers()
        self.gateway.kill()
        if self._server is not None:
            self._server.kill()
        self.runtime.close()
        self.ledger.close()
        self._engine.dispose()


@contextmanager
def stage(folder: Path, postgres: Server) -> Iterator[Stage]:
    """Everything running; nothing is left of it afterwards."""
    with Zygote(folder) as zygote:
        running = Stage(folder, zygote, postgres)
        try:
            yield running
        finally:
            running.close()
