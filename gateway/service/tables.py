"""Effect tables: versions in the ledger's reserved stream, the newest in force."""

from collections.abc import Callable, Mapping
from datetime import datetime
from threading import Lock
from typing import cast

from effects.errors import EffectTableRefused, LiteralSecretRefused
from effects.strict_json import JSONValue
from effects.table import EffectTable
from gateway.errors import InvalidEffects, LiteralSecret, LocalUpstreamsOff, PreconditionFailed
from gateway.principal import Principal, Role
from gateway.service.newest import Newest
from gateway.turn.brakes import Brakes
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from gateway.upstream.local import EVERYBODY, LocalUpstreams
from ledger.append import Change, Ledger
from ledger.errors import UnreadableStream
from ledger.events import EFFECTS_STREAM, Event, EventType
from ledger.state import StreamState

EMPTY = EffectTable.parse("tools: {}")


class EffectTables:
    """The effect tables of all tenants. Safe to share among threads."""

    def __init__(
        self,
        ledger: Ledger,
        clock: Callable[[], datetime],
        brakes: Callable[[str], Brakes] | None = None,
        local: LocalUpstreams = EVERYBODY,
    ) -> None:
        """``brakes``: what else holds a tenant's calls back, as known now; None: nothing is asked. ``local``: whose tables
        may run code on the dispatcher's machine.
        """
        self._local = local
        self._brakes = brakes
        self._ledger = ledger
        self._clock = clock
        self._parsed: dict[str, tuple[int, TableInForce]] = {}
        self._lock = Lock()
        self._versions: dict[str, Newest[int]] = {}

    def current(self, tenant: str) -> TableInForce:
        """The version in force now; version 0, which knows no tool, if none was ever applied."""
        force = self._current(tenant)
        return force if self._brakes is None else force.under(self._brakes(tenant))

    def at_least(self, tenant: str, version: int, known: TableInForce) -> TableInForce:
        """``known``, unless that is older than ``version``: then the one in force now. What others have decided under a newer
        table is not to be decided about under an older one, which a process read a moment ago.
        """
        return known if known.version >= version else self.current(tenant)

    def _current(self, tenant: str) -> TableInForce:
        # Another database may hold another table under the same version.
        database = self._ledger.databases
        version = self._newest(tenant).ask()
        with self._lock:
            parsed_of, known = self._parsed.get(tenant, (database, None))
        if known is not None and known.version == version and parsed_of == self._ledger.databases:
            return known
        event = self._last(tenant, version)
        force = TableInForce(0, EMPTY) if event is None else _in_force(event)
        with self._lock:
            self._parsed[tenant] = (database, force)
        return force

    def _newest(self, tenant: str) -> Newest[int]:
        with self._lock:
            known = self._versions.get(tenant)
            if known is None:
                known = Newest(lambda: self._ledger.read(tenant, EFFECTS_STREAM).seq)
                self._versions[tenant] = known
            return known

    def show(self, principal: Principal) -> TableInForce:
        """The version in force now, for a caller."""
        principal.require(Role.RUNTIME, Role.OPERATOR, Role.AUDITOR)
        return self.current(principal.tenant)

    def apply(
        self,
        principal: Principal,
        source: str | Mapping[str, JSONValue],
        *,
        expected_version: int | None = None,
    ) -> TableInForce:
        """Put a table in force, given as YAML or as its document. An equal table changes nothing.

        Raises ``InvalidEffects``, and ``PreconditionFailed`` if the
        version in force is not the expected one; ``LocalUpstreamsOff`` where the tenant's tables may not run code here.
        """
        principal.require(Role.OPERATOR)
        try:
            table = (
                EffectTable.parse(source) if isinstance(source, str) else EffectTable.from_document(source)
            )
        except LiteralSecretRefused as error:
            raise LiteralSecret(str(error), path=error.path) from error
        except EffectTableRefused as error:
            raise InvalidEffects(str(error), path=error.path) from error

        path = self._local.refused(principal.tenant, table)
        if path is not None:
            raise LocalUpstreamsOff(
                f"{path}: tables of tenant {principal.tenant!r} may not run code on this machine", path=path
            )

        def decide(state: StreamState) -> Change:
            if expected_version is not None and expected_version != state.seq:
                raise PreconditionFailed(f"version {state.seq} is in force", version=state.seq)
            if self.current(principal.tenant).table.digest == table.digest and state.seq:
                return Change(())
            unfolding = Unfolding(state, self._clock())
            document = table.document()
            body = {"version": state.seq + 1, "digest": table.digest, "table": document, "by": principal.name}
            unfolding.emit(EventType.EFFECTS_CHANGED, body)
            return Change(unfolding.events)

        self._ledger.append(principal.tenant, EFFECTS_STREAM, decide)
        return self.current(principal.tenant)

    def history(self, principal: Principal) -> list[Event]:
        """Every version that was ever in force, oldest first."""
        principal.require(Role.OPERATOR, Role.AUDITOR)
        return self._ledger.events(principal.tenant, EFFECTS_STREAM, after=0, limit=10_000)

    def _last(self, tenant: str, version: int) -> Event | None:
        events = self._ledger.events(tenant, EFFECTS_STREAM, after=version - 1, limit=1) if version else []
        if events and events[0].unreadable:
            raise UnreadableStream(EFFECTS_STREAM, f"version {version} is no effect table of ours")
        return events[0] if events else None


def _in_force(event: Event) -> TableInForce:
    document = cast("Mapping[str, JSONValue]", event.payload["table"])
    return TableInForce(event.seq, EffectTable.from_document(document, accepted_before=True))
