"""Which calls of a tool wait for a person (interface.md, "Tools (upstreams)": ``approval``)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Self

from effects.rules import Condition, Verdict

ALWAYS = "required"
"""``approval: required``: every call of the tool waits for a person."""

DEFAULT_EXPIRY = 3600.0
"""Seconds for which an approval is good where the table does not say (``approval_expires``)."""


class Because(StrEnum):
    """Why a call waits for a person. ``FORK_REPEATS``: it repeats a WRITE of the message that its own forks from.
    ``DEFINITION_CHANGED``: it was approved, and the table says other things of its tool since.
    """

    REQUIRED = "required"
    CONDITION = "condition"
    FORK_REPEATS = "fork_repeats"
    DEFINITION_CHANGED = "definition_changed"


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """What a tool's ``approval`` says: every call (``condition`` None), or those that meet a condition."""

    condition: Condition | None

    @classmethod
    def parse(cls, source: object) -> Self:
        """Read ``required``, or a condition over arguments and ``now``. ValueError for anything else."""
        if source == ALWAYS:
            return cls(None)
        condition = Condition.compile(source)
        if "result" in condition.names:
            raise ValueError("'result' is not known when approval is asked for: nothing has been sent")
        return cls(condition)

    def __str__(self) -> str:
        """The spelling in the table."""
        return ALWAYS if self.condition is None else self.condition.source

    def asks(self, arguments: Mapping[str, object] | None, now: datetime) -> Because | None:
        """Why a call with these arguments (None: they could not be read) waits for a person; None if it does not.

        A condition that cannot be decided, or that lacks an argument, asks: only a plain no lets a call pass.
        """
        if self.condition is None:
            return Because.REQUIRED
        if arguments is not None and self.condition.judge(arguments, now=now) is Verdict.FALSE:
            return None
        return Because.CONDITION
