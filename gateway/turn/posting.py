"""Posting an intent: what a runtime says a block asks for must be what the tokens spell (interface.md, ``/intents``)."""

from collections.abc import Mapping
from dataclasses import dataclass

from decoding.calls.block import Block, Call
from effects.canonical import digest
from effects.intent import BlockState, StreamEnd, stream_end
from gateway.errors import (
    DivergesFromTokens,
    Redacted,
    SpanNotDrafted,
    SpanOrder,
    SpanOverlap,
    StreamFinished,
    UnknownBranch,
    WrongRound,
)
from gateway.turn.blocks import arguments_digest, clear_decided, hold, typed
from gateway.turn.finished_call import FRONT
from gateway.turn.scanner import BlockScanner
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from ledger.state import Branch, Intent


@dataclass(frozen=True, slots=True)
class PostedIntent:
    """What a runtime posts. ``round`` None: the block is decided and has only one."""

    branch: str
    round: int | None
    start: int
    end: int
    ordinal: int
    tool: str
    arguments: Mapping[str, object]
    call_id: str | None = None


def post_intent(
    unfolding: Unfolding, posted: PostedIntent, scanner: BlockScanner, force: TableInForce
) -> tuple[Intent, bool]:
    """Hold the posted call, or find it if it was posted before: (intent, whether it is a replay).

    Checks in the order of interface.md: replay, finished, round, drafted, overlap, order, tokens. ``Redacted`` is raised
    where there is nothing left to hold the call against.
    """
    branch = unfolding.state.branches.get(posted.branch)
    if branch is None:
        raise UnknownBranch(f"the stream has no branch {posted.branch!r}")
    known = _known(unfolding, branch, posted)
    if known is not None and known.redacted:
        raise Redacted(f"the intent at [{known.start}, {known.end}) is redacted")
    if known is not None and _same(known, posted):
        return _attach_call_id(unfolding, known, posted.call_id), True
    _check_open(unfolding, branch, posted)
    _check_round(branch, posted)
    if posted.end > branch.drafted_end:
        raise SpanNotDrafted(f"the span ends at {posted.end}, drafted end is {branch.drafted_end}")
    _check_neighbours(unfolding, posted, known)
    if known is not None:
        _check_call(known.tool, known.arguments_digest, posted)
    if unfolding.state.source == "detected":
        raise DivergesFromTokens("span", "the tokens spell no call block there")
    if any(branch.token(place).seq in unfolding.state.redacted for place in range(posted.end)):
        # Where a block begins follows from everything before it.
        raise Redacted("tokens up to the end of the span are redacted")
    block, call = _spelled(scanner.blocks(unfolding.state, branch), posted, force)
    intent = hold(unfolding, branch, block, call, force, posted.call_id)
    clear_decided(unfolding, branch.name)
    return unfolding.intent(intent.intent_id), False


def _known(unfolding: Unfolding, branch: Branch, posted: PostedIntent) -> Intent | None:
    same_place = [
        intent
        for intent in unfolding.state.intents.values()
        if intent.branch == branch.name and intent.place == (posted.start, posted.ordinal)
    ]
    if posted.round is None:
        same_place = [intent for intent in same_place if intent.block is not BlockState.VOIDED]
    else:
        same_place = [intent for intent in same_place if intent.round == posted.round]
    return same_place[0] if same_place else None


def _same(known: Intent, posted: PostedIntent) -> bool:
    spelled = known.arguments_digest
    return (
        known.end == posted.end
        and known.tool == posted.tool
        and spelled is not None
        and spelled == digest(dict(posted.arguments))
    )


def _check_call(tool: str | None, spelled: str | None, posted: PostedIntent) -> None:
    if tool != posted.tool:
        raise DivergesFromTokens("tool", f"the tokens spell the tool {tool!r}")
    if spelled is None or spelled != digest(dict(posted.arguments)):
        raise DivergesFromTokens("arguments", "the tokens spell other arguments")


def _attach_call_id(unfolding: Unfolding, known: Intent, call_id: str | None) -> Intent:
    # A finished call is found again by the id that it came with.
    kept = known.call_id is not None and FRONT in unfolding.state.labels
    if call_id is not None and known.call_id != call_id and not kept:
        unfolding.emit_for(EventType.INTENT_CALL_ID, known, call_id=call_id)
    return unfolding.intent(known.intent_id)


def _check_open(unfolding: Unfolding, branch: Branch, posted: PostedIntent) -> None:
    finished = unfolding.state.finished
    if finished is None:
        return
    cleared = posted.end <= branch.head
    if stream_end(finished) is StreamEnd.ABORTED or not cleared:
        raise StreamFinished(f"the stream is finished: {finished}")


def _check_round(branch: Branch, posted: PostedIntent) -> None:
    if posted.round is None:
        if posted.end > branch.head:
            raise WrongRound("the round may be left out only once the block is decided", round=branch.round)
        return
    spelled = branch.token(posted.end - 1).round if posted.end <= branch.drafted_end else branch.round
    if posted.round != spelled:
        raise WrongRound(f"the last token of the span is of round {spelled}", round=spelled)


def _check_neighbours(unfolding: Unfolding, posted: PostedIntent, known: Intent | None) -> None:
    living = [
        intent
        for intent in unfolding.state.intents.values()
        if intent.branch == posted.branch and intent.block is not BlockState.VOIDED
    ]
    for intent in living:
        shared = min(intent.end, posted.end) - max(intent.start, posted.start)
        equal = (intent.start, intent.end) == (posted.start, posted.end)
        at_the_seam = shared == 1 and (intent.end - 1 == posted.start or posted.end - 1 == intent.start)
        if shared > 0 and not equal and not at_the_seam:
            raise SpanOverlap(f"the span overlaps the intent at [{intent.start}, {intent.end})")
    place = (posted.start, posted.ordinal)
    later = [intent for intent in living if intent.place > place]
    if later and known is None and unfolding.state.source == "posted":
        raise SpanOrder(f"a living intent stands later, at {later[0].start}")


def _spelled(blocks: tuple[Block, ...], posted: PostedIntent, force: TableInForce) -> tuple[Block, Call]:
    here = [(b, c) for b in blocks for c in b.calls if b.start == posted.start]
    if not any(block.end == posted.end for block, _ in here):
        raise DivergesFromTokens("span", "the tokens spell no call block with this span")
    found = [(b, c) for b, c in here if c.ordinal == posted.ordinal and b.end == posted.end]
    if not found:
        raise DivergesFromTokens("ordinal", "the block has no call with this ordinal")
    block, call = found[0][0], typed(found[0][1], force)
    _check_call(call.tool, arguments_digest(call.arguments_raw), posted)
    return block, call
