"""A case: the evidence about one stream, worked out once, for every check to look at."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from effects.intent import StreamEnd, stream_end
from ledger.events import Event, EventType
from ledger.reconcile.acceptance import AcceptedBranch, UnreadableTokens, accepted_branches
from ledger.reconcile.evidence import Evidence, FindBlocks, FoundCall
from ledger.reconcile.finding import Finding, FindingKind
from ledger.reconcile.trail import Attempt, Trail, body_of, trails


@dataclass(frozen=True, slots=True)
class SpelledCall:
    """A call as accepted tokens spell it. ``end``: of its block; ``accepted_seq``: seq of the event that accepted that."""

    end: int
    call: FoundCall
    accepted_seq: int


@dataclass(frozen=True, slots=True)
class Case:
    """``accepted`` is None where the token events cannot be read; ``spelled`` where nobody could find blocks in them.

    ``spelled`` is keyed by branch, start and ordinal. ``over``: nothing more is to be waited for before a call that
    was accepted counts as lost.
    """

    evidence: Evidence
    trails: Mapping[str, Trail]
    accepted: Mapping[str, AcceptedBranch] | None
    spelled: Mapping[tuple[str, int, int], SpelledCall] | None
    unreadable: Finding | None
    source: str
    end: StreamEnd
    over: bool
    now: datetime
    grace: timedelta

    def accepted_seq(self, trail: Trail) -> int | None:
        """Seq of the event that accepted the block of this intent; None where its tokens are not accepted."""
        branch = (self.accepted or {}).get(trail.branch)
        return None if branch is None else branch.accepted_seq(trail.span[1], trail.closed_seq)

    def is_readable(self, trail: Trail) -> bool:
        """Whether both what was held and what the accepted tokens of its block spell can still be read."""
        branch = (self.accepted or {}).get(trail.branch)
        return not trail.redacted and (branch is None or branch.is_readable(*trail.span))

    def others(self, trail: Trail) -> Iterator[Trail]:
        """Every other intent of the stream that was ever held."""
        return (t for t in self.trails.values() if t is not trail and t.held is not None)

    def sendings(self) -> Iterator[tuple[Trail, Attempt]]:
        """Every dispatch in the union of events and rows, with its intent; not what the database only may have lost."""
        return ((t, a) for t in self.trails.values() for a in t.ordered_attempts() if not a.lost)

    def finding(
        self,
        kind: FindingKind,
        trail: Trail | None,
        detail: str,
        *,
        seq: int | None = None,
        line: int | None = None,
        tool: str | None = None,
    ) -> Finding:
        """A finding about this stream."""
        about = None if trail is None else trail.intent_id
        name = (trail.tool if trail is not None else None) or tool
        return Finding(
            kind, self.evidence.tenant, self.evidence.commit_key, about, seq, detail, tool=name, log_line=line
        )


def case_of(
    evidence: Evidence, *, now: datetime, grace: timedelta, find_blocks: FindBlocks | None = None
) -> Case:
    """Work out the evidence about one stream. ``now``: aware; ``grace``: as in ``examine``."""
    accepted, unreadable = _accepted(evidence)
    opened = next((e for e in evidence.events if e.type is EventType.STREAM_OPENED), None)
    terms = {} if opened is None else body_of(opened)
    finished = next((e for e in evidence.events if e.type is EventType.STREAM_FINISHED), None)
    end = StreamEnd.OPEN if finished is None else _end(finished)
    quiet = bool(evidence.events) and now - evidence.events[-1].at >= grace
    known = trails(evidence.events, evidence.dispatches)
    return Case(
        evidence=evidence,
        trails=known,
        accepted=accepted,
        spelled=_spelled(accepted, known.values(), str(terms.get("format", "")), find_blocks),
        unreadable=unreadable,
        source=str(terms.get("from", "")),
        end=end,
        over=quiet and end is not StreamEnd.ABORTED,
        now=now,
        grace=grace,
    )


def _accepted(evidence: Evidence) -> tuple[Mapping[str, AcceptedBranch] | None, Finding | None]:
    try:
        _check_whole(evidence.events)
        return accepted_branches(evidence.events), None
    except UnreadableTokens as error:
        kind, about = FindingKind.UNREADABLE_STREAM, (evidence.tenant, evidence.commit_key)
        return None, Finding(kind, *about, None, error.seq, str(error))


def _check_whole(events: Sequence[Event]) -> None:
    for place, event in enumerate(events, 1):
        if event.seq != place:
            raise UnreadableTokens(place, f"it is missing; {event.seq} comes next")
        if event.unreadable:
            raise UnreadableTokens(place, "its payload or its type is none of ours")


def _end(finished: Event) -> StreamEnd:
    try:
        return stream_end(body_of(finished).get("reason"))
    except KeyError:
        return StreamEnd.ABORTED


def _spelled(
    accepted: Mapping[str, AcceptedBranch] | None,
    known: Collection[Trail],
    format_: str,
    find_blocks: FindBlocks | None,
) -> Mapping[tuple[str, int, int], SpelledCall] | None:
    if accepted is None or find_blocks is None:
        return None
    calls: dict[tuple[str, int, int], SpelledCall] = {}
    for name, branch in accepted.items():
        for first, texts in _readable(name, branch, known):
            blocks = find_blocks(format_, texts)
            if blocks is None:
                return None
            for block in blocks:
                start, end = first + block.start, first + block.end
                for call in block.calls:
                    calls[name, start, call.ordinal] = SpelledCall(end, call, branch.reached(end))
    return calls


def _readable(
    name: str, branch: AcceptedBranch, known: Collection[Trail]
) -> Iterator[tuple[int, Sequence[str]]]:
    """The texts between gaps, each with its first position; not what is left of a block that begins in a gap."""
    for start, end in branch.readable_runs():
        cut = [
            t.span[1]
            for t in known
            if t.branch == name
            and t.span[0] < start < t.span[1]
            and branch.accepted_seq(t.span[1], t.closed_seq) is not None
        ]
        first = max(start, *cut) if cut else start
        if first < end:
            yield first, [token.text for token in branch.tokens[first:end]]
