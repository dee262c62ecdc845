"""The model's calls: what is known of each, and what happens to it.

Written from design.md alone ("Life of an intent", "Effect classes at the gate"). Nothing of ``effects``, ``ledger`` or
``gateway`` is used.
"""

from dataclasses import dataclass
from datetime import datetime

from tests.ledger.model.tools import TOOLS, UNKNOWN, Tool

OVER = ("voided", "refused", "denied")


@dataclass
class Word:
    """A person's word that a call may be sent: until when, and the attempt that it was sent by."""

    until: datetime
    spent_on: int | None = None


@dataclass
class Call:
    """One call, mutable. ``sent_fact``, ``settled_fact``: when it was last sent and settled, counted in facts.

    ``adopted``: the call whose answer it takes for its own, and the attempt of that one. ``asked``: why a person has to
    decide; ``word``: what the person said.
    """

    lane: str
    round: int
    start: int
    end: int
    ordinal: int
    byte_start: int
    byte_end: int
    tool_name: str | None
    arguments: dict[str, object] | None
    call_id: str | None = None
    block: str = "undecided"
    state: str = "held"
    why_over: str | None = None
    release: str | None = None
    final: bool = False
    stale: bool = False
    attempts: int = 0
    awaited: int | None = None
    keyed: bool = False
    sent_fact: int | None = None
    sent_at: datetime | None = None
    first_sent_at: datetime | None = None
    settled_fact: int | None = None
    early_answer: bool = False
    status: str | None = None
    content: object = None
    not_before: datetime | None = None
    resolved: bool = False
    adopted: tuple[tuple[str, int, int, int], int] | None = None
    asked: str | None = None
    word: Word | None = None

    @property
    def name(self) -> tuple[str, int, int, int]:
        return (self.lane, self.start, self.ordinal, self.round)

    @property
    def tool(self) -> Tool:
        return TOOLS.get(self.tool_name or "", UNKNOWN)

    @property
    def sayable(self) -> bool:
        """Whether it parses and its tool is known."""
        return self.tool_name in TOOLS

    @property
    def reads(self) -> bool:
        return self.tool.effect == "READ_ONLY"

    @property
    def place(self) -> tuple[int, int]:
        return (self.start, self.ordinal)

    @property
    def over(self) -> bool:
        """Terminal: final, voided, refused, denied; in doubt is not."""
        return self.final or self.state in OVER

    @property
    def exposed(self) -> bool:
        return self.awaited is not None or self.state == "in_doubt"

    @property
    def let_go(self) -> bool:
        """A twin that lives: it was let go, and is not over."""
        return not self.over and (self.state != "held" or self.attempts > 0)

    @property
    def perhaps_sent(self) -> bool:
        """A change that was sent and came to nothing that is known; what may have happened runs to its outcome."""
        return self.attempts > 0 and self.keyed

    def allowed(self, now: datetime) -> bool:
        """Nobody has to decide, or a person did, for one sending and for a while; what was lost goes again by the same word."""
        if self.asked is None or self.perhaps_sent:
            return True
        if self.word is None:
            return False
        if self.word.spent_on is None:
            return now < self.word.until
        return self.word.spent_on == self.attempts and self.settled_fact is None

    @property
    def outstanding(self) -> bool:
        """Let go early, and without an answer, whatever became of its block."""
        return self.release == "early" and (self.state == "released" or self.awaited is not None)

    @property
    def offers(self) -> bool:
        """A voided early read with an answer, or in flight; what it adopted itself is adopted from where it came."""
        if (
            self.state != "voided"
            or not self.early_answer
            or self.adopted is not None
            or self.sent_fact is None
        ):
            return False
        return self.awaited is not None or self.status not in (None, "unavailable")

    def touches(self) -> str | None:
        """The one thing that it names, "" for nothing, None for anything of its upstream."""
        if self.tool.touches == "anything":
            return None
        if self.tool.touches == "nothing":
            return ""
        name = (self.arguments or {}).get("name")
        return name if isinstance(name, str) else None


def conflict(one: Call, other: Call) -> bool:
    """Footprints overlap, and at least one is not READ_ONLY."""
    if one.reads and other.reads:
        return False
    if "?" in (one.tool.upstream, other.tool.upstream):
        return True
    mine, theirs = one.touches(), other.touches()
    if one.tool.upstream == other.tool.upstream and (mine is None or theirs is None):
        return True
    return bool(mine) and mine == theirs


def adopt(call: Call, source: Call) -> None:
    """It is as old as the dispatch that it adopts, and stands as that does."""
    call.adopted = (source.name, source.attempts)
    call.sent_fact, call.sent_at, call.early_answer = source.sent_fact, source.sent_at, True
    call.state = "dispatched" if source.awaited is not None else "settled"
    if call.state == "settled":
        call.settled_fact, call.status, call.content = source.settled_fact, source.status, source.content


def ask(call: Call) -> None:
    """A person has to decide; what one said before counts no more."""
    call.state, call.release, call.word = "awaiting_approval", None, None


def leave(call: Call) -> None:
    """Held again; what it adopted, if it did, is not its own any more."""
    call.state, call.release = "held", None
    if call.adopted is not None:
        call.adopted = call.sent_fact = call.sent_at = call.settled_fact = call.status = call.content = None
        call.early_answer = False


def end(call: Call, state: str, why: str) -> None:
    """Voided, refused or denied, once."""
    call.state, call.why_over, call.stale, call.not_before = state, why, False, None
