"""The log: whether it is sealed and signed, and with which key."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from sqlalchemy import Engine

from effects.wording import counted
from gateway.doctor.finding import Finding, Verdict
from gateway.sealing import notary_over
from gateway.settings import Settings
from ledger.errors import KeyRefused
from ledger.log.reader import LogReader

LATE = 60.0
"""Seconds for which events may wait to be sealed, and what is sealed for a signature."""

_SEALS = "run a gateway or worker with COMMITGATE_SEAL=true and the log's key"


def sealing(engine: Engine) -> Iterator[Finding]:
    """``sealing_lag``: what is committed has its place in the log."""
    pending = LogReader(engine).pending()
    told = f"{counted(pending.events, 'event')} waiting, the oldest for {pending.lag_seconds:.1f} s"
    if pending.lag_seconds > LATE:
        yield Finding("sealing_lag", Verdict.WARN, told, _SEALS)
    else:
        yield Finding("sealing_lag", Verdict.PASS, told)


def checkpoint(engine: Engine, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Iterator[Finding]:
    """``checkpoint``: what is sealed is signed for."""
    reader = LogReader(engine)
    signed, size = reader.checkpoint(), reader.size()
    if signed is None:
        verdict = Verdict.WARN if size else Verdict.INFO
        told = f"none yet, over {counted(size, 'sealed event')}"
        yield Finding("checkpoint", verdict, told, _SEALS if size else "")
        return
    age = (now() - signed.at).total_seconds()
    told = f"over {signed.size} of {counted(size, 'sealed event')}, {age:.0f} s old"
    if signed.size < size and age > LATE:
        yield Finding("checkpoint", Verdict.WARN, told, _SEALS)
    else:
        yield Finding("checkpoint", Verdict.PASS, told)


def key(engine: Engine, settings: Settings) -> Iterator[Finding]:
    """``signing_key``: it is there, signs for this log, and is the one that signed before. It is not made here."""
    path = settings.ledger_key_file
    if not settings.seal:
        yield Finding("signing_key", Verdict.INFO, "this process does not seal (COMMITGATE_SEAL=false)")
    elif not path.exists():
        signed = LogReader(engine).checkpoint() is not None
        told = f"{path} is not there"
        if signed:
            hint = "name the file that signed before in COMMITGATE_LEDGER_KEY, on every gateway and worker"
            yield Finding("signing_key", Verdict.FAIL, told, hint)
        else:
            yield Finding("signing_key", Verdict.INFO, told + "; it is made when the log is first sealed")
    else:
        try:
            notary_over(engine, settings)
        except KeyRefused as error:
            hint = "every gateway and worker needs the same key: COMMITGATE_LEDGER_KEY"
            yield Finding("signing_key", Verdict.FAIL, str(error), hint)
        else:
            yield Finding("signing_key", Verdict.PASS, f"{path} signs for this log")
