"""What a check comes to: a stable code, a verdict, what was seen, and what to do about it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.exc import SQLAlchemyError

from effects.errors import EffectsError
from gateway.errors import GatewayError
from ledger.errors import LedgerError


class Verdict(StrEnum):
    """``info``: nothing to do; ``warn``: it works, and somebody should look; ``fail``: it does not work, or not safely."""

    PASS = "pass"  # noqa: S105 - a verdict
    INFO = "info"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's. ``check``: its stable code. ``hint``: what helps; empty where nothing is to be done."""

    check: str
    verdict: Verdict
    told: str
    hint: str = ""


Check = Callable[[], Iterable[Finding]]


def examined(check: str, run: Check) -> Iterator[Finding]:
    """What a check finds. One that cannot be made fails with the code ``check``, and does not end the others."""
    try:
        yield from run()
    except (LedgerError, EffectsError, GatewayError) as error:
        yield Finding(check, Verdict.FAIL, f"{error.code}: {_line(error)}")
    except (SQLAlchemyError, OSError) as error:
        yield Finding(
            check, Verdict.FAIL, f"{type(error).__name__}: {_line(getattr(error, 'orig', None) or error)}"
        )


def _line(error: object) -> str:
    return str(error).strip().partition("\n")[0]
