"""Blocks as the tokens spell them: found, held as intents, cleared or voided as rulings come in."""

from collections.abc import Iterator
from dataclasses import replace

from decoding.calls.block import Block, Call
from effects.canonical import digest
from effects.intent import BlockState
from effects.strict_json import JSONRefused, parse
from gateway.errors import TooManyCalls
from gateway.turn.identity import intent_id
from gateway.turn.opening import void_undecided
from gateway.turn.scanner import BlockScanner
from gateway.turn.tables import TableInForce, arguments
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from ledger.state import Branch, Intent

MAX_LIVING_CALLS = 512
"""Calls of one model message that are not voided. Every decision looks at all of them."""

MAX_CALLS = 10_000
"""Calls of one model message, voided ones included."""


def follow_tokens(
    unfolding: Unfolding, name: str, cut_at: int | None, scanner: BlockScanner, force: TableInForce
) -> None:
    """After a token event: void what a cut at ``cut_at`` reaches, hold newly detected calls, clear what head has passed."""
    if cut_at is not None:
        void_undecided(unfolding, name, because="token_rejected", beyond=cut_at)
    if unfolding.state.source == "detected":
        branch = unfolding.branch(name)
        for block, call in _calls(scanner.blocks(unfolding.state, branch)):
            if call.problem == "opener_inside_block" and not scanner.settled(unfolding.state, branch, block):
                continue  # What ends it is the next opener, and that may still be rejected.
            known = intent_id(unfolding.state, name, block.start, call.ordinal, block_round(branch, block))
            if known not in unfolding.state.intents:
                hold(unfolding, branch, block, typed(call, force), force)
    clear_decided(unfolding, name)


def typed(call: Call, force: TableInForce) -> Call:
    """A call as the table in force has it: arguments that a detector built from texts get the types of the tool's schema."""
    return replace(call, arguments_raw=force.typed(call.tool, call.arguments_raw)) if call.built else call


def hold(
    unfolding: Unfolding,
    branch: Branch,
    block: Block,
    call: Call,
    force: TableInForce,
    call_id: str | None = None,
) -> Intent:
    """Record one call of a closed block as a held intent, in the class that the table gives it now."""
    _check_room(unfolding)
    round_ = block_round(branch, block)
    identity = intent_id(unfolding.state, branch.name, block.start, call.ordinal, round_)
    judged = force.classify(call.tool, call.arguments_raw)
    asks = None
    if judged.approval is not None:
        asks = judged.approval.asks(arguments(call.arguments_raw), unfolding.now)
    body: dict[str, object] = {
        "intent_id": identity,
        "round": round_,
        "span": [block.start, block.end],
        "ordinal": call.ordinal,
        "block_ordinal": call.ordinal - block.calls[0].ordinal,
        "byte_start": block.byte_start,
        "byte_end": block.byte_end,
        "closed_seq": branch.token(block.end - 1).seq,
        "tool": call.tool,
        "arguments_raw": call.arguments_raw,
        "arguments_digest": arguments_digest(call.arguments_raw),
        "problem": call.problem,
        "call_id": call_id,
        "effect": judged.effect.value,
        "effect_version": force.version,
        "footprint": judged.footprint.to_json(),
    }
    if asks is not None:
        body["approval"] = asks.value
    if call.built:
        body["arguments_built"] = True  # The block's bytes do not spell them.
    if unfolding.traceparent is not None:
        body["traceparent"] = unfolding.traceparent
    unfolding.emit(EventType.INTENT_HELD, body, branch=branch.name, intent_id=identity)
    return unfolding.intent(identity)


def clear_decided(unfolding: Unfolding, name: str) -> None:
    """Clear every undecided block of which head has passed the last token."""
    head = unfolding.branch(name).head
    cleared = [
        intent
        for intent in unfolding.state.intents.values()
        if intent.branch == name and intent.block is BlockState.UNDECIDED and intent.end <= head
    ]
    for intent in sorted(cleared, key=lambda i: i.place):
        body = {"span": [intent.start, intent.end], "round": intent.round, "intents": [intent.intent_id]}
        unfolding.emit(EventType.BLOCK_CLEARED, body, branch=name)


def void_open_blocks(unfolding: Unfolding, scanner: BlockScanner) -> None:
    """Record each block that the stream ended inside, whatever reason it gave: it asks for nothing.

    Where calls are posted nobody looks for blocks, and one that is not whole cannot be posted.
    """
    if unfolding.state.source != "detected":
        return
    for name, branch in unfolding.state.branches.items():
        start = scanner.open_at(unfolding.state, branch)
        if start is not None:
            span = [start, branch.drafted_end]
            body = {"span": span, "round": branch.round, "intents": [], "because": "stream_ended_inside"}
            unfolding.emit(EventType.BLOCK_VOIDED, body, branch=name)


def block_round(branch: Branch, block: Block) -> int:
    """The round of a block: that of its last token."""
    return branch.token(block.end - 1).round


def _check_room(unfolding: Unfolding) -> None:
    intents = unfolding.state.intents
    if len(intents) < MAX_LIVING_CALLS:
        return
    living = sum(intent.block is not BlockState.VOIDED for intent in intents.values())
    if living >= MAX_LIVING_CALLS or len(intents) >= MAX_CALLS:
        raise TooManyCalls(
            f"a message holds at most {MAX_LIVING_CALLS} calls, {MAX_CALLS} with the voided ones"
        )


def _calls(blocks: tuple[Block, ...]) -> Iterator[tuple[Block, Call]]:
    return ((block, call) for block in blocks for call in block.calls)


def arguments_digest(raw: str | None) -> str | None:
    """Digest of the canonical form of the arguments; None where they are not strict JSON."""
    if raw is None:
        return None
    try:
        return digest(parse(raw))
    except JSONRefused:
        return None
