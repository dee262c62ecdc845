"""The port to whatever shows a demonstration: a terminal, or lines of JSON."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from gateway.demo.api import Json

if TYPE_CHECKING:
    from decoding.progress import LoopEvent
    from gateway.demo.summary import Summary
    from ledger.reconcile.finding import Finding


@dataclass(frozen=True, slots=True)
class Heading:
    """One turn before it begins. ``number`` counts from 1."""

    number: int
    of: int
    kind: str
    ask: str


@dataclass(frozen=True, slots=True)
class MessageHeading:
    """One message of a turn before it is decoded. ``role``: ``calls`` or ``answer``."""

    key: str
    role: str
    drafter: str
    window: int


class Show(Protocol):
    """Is told what happens. ``ledger`` comes from another thread than the rest."""

    def stage(self, text: str) -> None:
        """What is being done before or after the turns."""

    def turn(self, heading: Heading) -> None:
        """A turn begins."""

    def message(self, heading: MessageHeading) -> None:
        """A message begins; what follows belongs to it until ``message_ended``."""

    def loop(self, event: "LoopEvent") -> None:
        """The decoding loop drafted, ruled or ended."""

    def ledger(self, event: Json) -> None:
        """The ledger recorded an event of the message's stream."""

    def message_ended(self) -> None:
        """Every call of the message has come to rest."""

    def finding(self, finding: "Finding") -> None:
        """Reconciliation found something."""

    def summary(self, summary: "Summary") -> None:
        """All is over and counted."""

    def close(self) -> None:
        """Nothing more comes; harmless to repeat."""
