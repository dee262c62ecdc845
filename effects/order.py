"""Order and freshness: what a call must wait for, and what an answer must not have missed.

The promise is serial equivalence (design.md, "Order, freshness, finality"). Order within a branch is position; order of
facts is seq in the ledger, never a clock.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from effects.classes import EffectClass
from effects.footprint import Footprint, conflicts


@dataclass(frozen=True, slots=True)
class CallView:
    """What order and freshness see of one call.

    ``place``: (start, ordinal), its place in its branch. ``exposed``: sent and without an outcome, or in doubt: the world
    may be changing under it. ``dispatched_seq``: seq of its latest dispatch; ``settled_seq``: seq of the event that
    settled it; None where there is none.
    """

    branch: str
    place: tuple[int, int]
    effect: EffectClass
    footprint: Footprint
    terminal: bool
    exposed: bool
    dispatched_seq: int | None = None
    settled_seq: int | None = None


def conflict(one: CallView, other: CallView) -> bool:
    """Whether two calls touch a common key and at least one is not READ_ONLY."""
    return conflicts(one.effect, one.footprint, other.effect, other.footprint)


def precedes(one: CallView, other: CallView) -> bool:
    """Whether ``one`` stands before ``other`` in the same branch."""
    return one.branch == other.branch and one.place < other.place


def earlier_terminal(call: CallView, others: Iterable[CallView], *, strict_writes: bool) -> bool:
    """Whether everything that ``call`` must wait for is over.

    A read waits for each earlier conflicting non-read of its branch, and for conflicting non-reads of other branches that
    are in flight or in doubt (rules 2 and 4). Any other call waits for every earlier conflicting call of its branch and,
    with ``strict_writes`` (``write_order: strict``), for every earlier non-read (rule 1).
    """
    return not any(_must_wait(call, other, strict_writes=strict_writes) for other in others)


def overtaken_by(read: CallView, others: Iterable[CallView]) -> int | None:
    """The latest settling that the answer of ``read`` did not see: None if the answer is fresh (rule 2).

    It must have seen every settled conflicting non-read earlier in its branch or of another branch: its dispatch seq is
    later than their settling. ValueError if the read was never dispatched.
    """
    if read.dispatched_seq is None:
        raise ValueError("a read without a dispatch has no answer to judge")
    missed = [
        other.settled_seq
        for other in others
        if other.settled_seq is not None
        and other.settled_seq > read.dispatched_seq
        and other.effect is not EffectClass.READ_ONLY
        and (precedes(other, read) or other.branch != read.branch)
        and conflict(read, other)
    ]
    return max(missed, default=None)


def _must_wait(call: CallView, other: CallView, *, strict_writes: bool) -> bool:
    other_is_read = other.effect is EffectClass.READ_ONLY
    if call.effect is EffectClass.READ_ONLY:
        if other_is_read or not conflict(call, other):
            return False
        return other.exposed if other.branch != call.branch else precedes(other, call) and not other.terminal
    if not precedes(other, call) or other.terminal:
        return False
    return (strict_writes and not other_is_read) or conflict(call, other)
