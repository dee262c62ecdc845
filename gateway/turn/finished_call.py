"""A call that comes finished: its block is written as accepted tokens, in one decision (interface.md, "MCP")."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from decoding.calls.hermes import spelled
from effects.canonical import digest
from effects.intent import BlockState
from gateway.errors import ExistsWithDifferent, StreamOfAnotherWriter
from gateway.turn.advance import advance
from gateway.turn.opening import StreamTerms, open_stream
from gateway.turn.scanner import BlockScanner
from gateway.turn.tables import TableInForce
from gateway.turn.tokens import TokenEvent, finish_stream, write_tokens
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from ledger.state import Intent, StreamState

BRANCH = "main"
FRONT = "front"
"""Label of a stream that only finished calls are written to; its value names the front."""


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """One call, whole. ``call_id``: the caller's own name of it, the same in every retry; None: each is a new call.

    ``last``: no other call of this model message follows. ``traceparent``: W3C trace context of the request.
    """

    tool: str
    arguments: Mapping[str, object]
    call_id: str | None = None
    last: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    traceparent: str | None = None


def write_call(
    unfolding: Unfolding, call: FinishedCall, front: str, scanner: BlockScanner, force: TableInForce
) -> tuple[str, bool]:
    """Write the call's block as accepted, or find the call that has this ``call_id``: (intent id, whether it is a replay).

    The stream is opened where it does not exist. Raises ``ExistsWithDifferent`` where the ``call_id`` names another call,
    ``StreamOfAnotherWriter`` where tokens of a model are written to the stream, and what ``write_tokens`` raises.
    """
    known = None
    if unfolding.state.exists:
        if unfolding.state.labels.get(FRONT) != front:
            raise StreamOfAnotherWriter("this commit key names a stream that another front or decoder writes")
        known = None if call.call_id is None else _known(unfolding.state, call.call_id)
    else:
        labels = {**call.labels, FRONT: front}
        terms = StreamTerms(format="hermes", source="detected", binding={"kind": "hosted"}, labels=labels)
        open_stream(unfolding, terms)
    if known is not None:
        _check_same(known, call)
        return known.intent_id, True
    unfolding.traceparent = call.traceparent
    intent = _write_block(unfolding, call, scanner, force)
    if call.call_id is not None:
        unfolding.emit_for(EventType.INTENT_CALL_ID, intent, call_id=call.call_id)
    advance(unfolding, force)
    if call.last:
        finish_stream(unfolding, "stop")
        advance(unfolding, force)
    return intent.intent_id, False


def _known(state: StreamState, call_id: str) -> Intent | None:
    return next((i for i in state.intents.values() if i.call_id == call_id), None)


def _check_same(known: Intent, call: FinishedCall) -> None:
    if known.tool != call.tool:
        raise ExistsWithDifferent("tool", f"the call {call.call_id!r} is a call of {known.tool!r}")
    if known.arguments_digest != digest(dict(call.arguments)):
        raise ExistsWithDifferent("arguments", f"the call {call.call_id!r} was made with other arguments")


def _write_block(
    unfolding: Unfolding, call: FinishedCall, scanner: BlockScanner, force: TableInForce
) -> Intent:
    branch = unfolding.branch(BRANCH)
    before = set(unfolding.state.intents)
    body = {"round": branch.round, "tokens": [{"text": spelled(call.tool, call.arguments)}]}
    accepted = TokenEvent(EventType.TOKENS_ACCEPTED, body, BRANCH)
    write_tokens(unfolding, unfolding.state.writer_epoch, [accepted], scanner, force)
    made = [unfolding.intent(name) for name in unfolding.state.intents if name not in before]
    if len(made) != 1 or made[0].block is not BlockState.CLEARED:
        # Text that ends inside a block stands before it: somebody else wrote tokens to the stream.
        raise StreamOfAnotherWriter(
            "tokens that another writer left in the stream do not let this block stand alone"
        )
    return made[0]
