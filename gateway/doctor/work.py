"""The work: what waits for a person, what is stopped, and who may come in."""

from collections.abc import Iterator

from sqlalchemy import Engine

from effects.wording import counted
from gateway.doctor.finding import Finding, Verdict
from gateway.http.guard import is_loopback
from ledger.access.keys import any_key
from ledger.braking.pausing import Pauses
from ledger.braking.stops import Stops
from ledger.listing import count_awaiting_approval, open_doubts


def waiting(engine: Engine) -> Iterator[Finding]:
    """``doubts`` and ``approvals``, of all tenants."""
    doubts = open_doubts(engine)
    if doubts.count:
        told = f"{counted(doubts.count, 'call')} in doubt, the oldest for {doubts.oldest_seconds:.0f} s"
        hint = (
            "commitgate doubt list; what later calls of a turn wait for stands still until each is resolved"
        )
        yield Finding("doubts", Verdict.WARN, told, hint)
    else:
        yield Finding("doubts", Verdict.PASS, "no call is in doubt")
    asked = count_awaiting_approval(engine)
    told = f"{counted(asked, 'call')} waiting for a person"
    yield Finding("approvals", Verdict.INFO, told, "commitgate approvals list" if asked else "")


def stopped(engine: Engine) -> Iterator[Finding]:
    """``pauses`` and ``speculation``, of all tenants."""
    paused = [
        f"{tenant}/{pause.tool} since {pause.at:%Y-%m-%d %H:%M} by {pause.by}"
        for tenant, pauses in Pauses(engine).all().items()
        for pause in pauses
    ]
    if paused:
        yield Finding("pauses", Verdict.WARN, ", ".join(paused), "commitgate dispatch resume [TOOL]")
    else:
        yield Finding("pauses", Verdict.PASS, "nothing is paused")
    stops = [
        f"{tenant}/{stop.tool} ({stop.wasted} of {stop.outcomes} wasted)"
        for tenant, found in Stops(engine).all().items()
        for stop in found
    ]
    told = ", ".join(stops) or "no tool stopped sending reads early"
    yield Finding("speculation", Verdict.INFO, told)


def doors(engine: Engine, host: str) -> Iterator[Finding]:
    """``keys``: a gateway on ``host`` asks who calls."""
    if any_key(engine):
        yield Finding("keys", Verdict.PASS, "keys were made: callers need one")
        return
    hint = "commitgate keys create --role admin"
    if is_loopback(host):
        told = "none was ever made: on loopback the gateway runs open, in one tenant"
        yield Finding("keys", Verdict.WARN, told, hint)
    else:
        yield Finding("keys", Verdict.FAIL, f"none was ever made: no gateway starts on {host}", hint)
