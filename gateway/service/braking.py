"""Holding calls back: pauses at an operator's word, and what else keeps tools from being sent."""

from collections.abc import Callable, Collection

from sqlalchemy import Engine

from effects.canonical import digest
from gateway.errors import InvalidRequest, PreconditionFailed, UnknownTool
from gateway.principal import Principal, Role
from gateway.service.brakes import KnownBrakes
from gateway.service.streams import Wake
from gateway.service.tables import EffectTables
from gateway.service.views import View
from ledger.braking.admission import Admissions
from ledger.braking.pausing import Pause, Pauses
from ledger.braking.schema import EVERY_TOOL

LONGEST_REASON = 10_000
"""Characters of a reason, at most."""


class Braking:
    """Pauses, limits and stopped speculation, tenant by tenant."""

    def __init__(
        self, engine: Engine, tables: EffectTables, brakes: KnownBrakes, wake: Wake = lambda: None
    ) -> None:
        """``brakes``: what this process knows; it is told of changes. ``wake``: see ``Streams``."""
        self._pauses = Pauses(engine)
        self._admissions = Admissions(engine)
        self._tables = tables
        self._brakes = brakes
        self._wake = wake

    def pause(
        self,
        principal: Principal,
        tool: str | None,
        *,
        reason: str = "",
        if_tags: Collection[str] | None = None,
    ) -> View:
        """Send ``tool`` (None: any tool) no more. ``in_force`` of the answer: whether that holds for certain by now.

        ``if_tags``: only where what is paused has one of these tags. Raises ``UnknownTool``, ``PreconditionFailed``,
        ``InvalidRequest``.
        """
        principal.require(Role.OPERATOR)
        _check(reason)
        if tool is not None and tool not in self._tables.current(principal.tenant).table.tools:
            raise UnknownTool(tool)
        certain = self._pauses.pause(
            principal.tenant, tool, by=principal.name, reason=reason, expected=_expecting(if_tags)
        )
        self._brakes.forget()
        self._wake()
        return {**self.status(principal), "in_force": certain}

    def resume(
        self,
        principal: Principal,
        tool: str | None,
        *,
        reason: str = "",
        if_tags: Collection[str] | None = None,
    ) -> View:
        """Send ``tool`` again (None: lift the pause of all tools together; tools paused by name stay so).

        ``was_paused`` of the answer says whether there was anything to lift. Raises ``PreconditionFailed``, ``InvalidRequest``.
        """
        principal.require(Role.OPERATOR)
        _check(reason)
        lifted = self._pauses.resume(principal.tenant, tool, expected=_expecting(if_tags))
        self._brakes.forget()
        self._wake()
        return {**self.status(principal), "was_paused": lifted}

    def status(self, principal: Principal) -> View:
        """What is paused, what is used of limits, which tools send no read early; ``tag`` names what is paused."""
        principal.require(Role.OPERATOR, Role.AUDITOR)
        paused = self._pauses.of(principal.tenant)
        return {
            "tag": _tag(paused),
            "paused": [
                {"tool": p.tool, "by": p.by, "reason": p.reason, "since": p.at.isoformat()} for p in paused
            ],
            "limits": self._limits(principal.tenant),
            "speculation_stopped": [
                {"tool": s.tool, "since": s.at.isoformat(), "wasted": s.wasted, "of": s.outcomes}
                for s in self._brakes.stops(principal.tenant).values()
            ],
        }

    def _limits(self, tenant: str) -> list[View]:
        table = self._tables.current(tenant).table
        named = {EVERY_TOOL: table.limits, **{name: tool.limits for name, tool in table.tools.items()}}
        used = {use.tool: use for use in self._admissions.uses(tenant)}
        return [
            {
                "tool": name,
                "rate": None if limits.rate is None else str(limits.rate),
                "concurrency": limits.concurrency,
                "running": used[name].running if name in used else 0,
            }
            for name, limits in named.items()
            if limits is not None
        ]


def _check(reason: str) -> None:
    if len(reason) > LONGEST_REASON or "\0" in reason:
        raise InvalidRequest(f"a reason has at most {LONGEST_REASON} characters, and no NUL")


def _tag(paused: list[Pause]) -> str:
    return digest([[p.tool, p.by, p.reason, p.at.isoformat()] for p in paused])[7:23]


def _expecting(tags: Collection[str] | None) -> Callable[[list[Pause]], None]:
    def check(paused: list[Pause]) -> None:
        if tags is not None and _tag(paused) not in tags:
            raise PreconditionFailed("something else is paused by now")

    return check
