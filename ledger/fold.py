"""The fold: one event after another into the state of a stream. Pure; it never parses text and never decides.

``fold(state, event)`` takes events in order of seq. What an event is worth was decided when it was written; the fold
only says what follows from it.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, cast

from effects.classes import EffectClass
from effects.errors import EffectsError
from effects.footprint import Footprint
from effects.intent import BlockState, IntentState, Release
from ledger import approval, attempts, lane
from ledger.adoption import adopted, orphaned, settled_together
from ledger.altered import altered
from ledger.errors import BrokenHistory, UnreadableStream
from ledger.events import Event, EventType
from ledger.redaction.blanking import blanked
from ledger.state import Branch, Intent, StreamState

_SOURCES = ("posted", "detected")

Handler = Callable[[StreamState, Event, Mapping[str, Any]], StreamState]
Move = Callable[[Branch, Event, Mapping[str, Any]], Branch]


def initial(tenant: str, commit_key: str) -> StreamState:
    """The state of a stream that holds no event."""
    return StreamState(tenant=tenant, commit_key=commit_key)


def fold(state: StreamState, event: Event) -> StreamState:
    """The state after ``event``. Raises ``BrokenHistory`` if its seq is not the next one."""
    if event.seq != state.seq + 1:
        raise BrokenHistory(state.commit_key, expected=state.seq + 1, found=event.seq)
    handler = _HANDLERS.get(event.type)
    after = handler(state, event, cast("Mapping[str, Any]", event.payload)) if handler else state
    return after if after.seq == event.seq else altered(after, seq=event.seq)


def fold_all(state: StreamState, events: Iterable[Event]) -> StreamState:
    """As ``fold`` of one event after the other. Token events that follow one another make one state, not one each."""
    moved: dict[str, Branch] = {}
    seq, at = state.seq, None
    for event in events:
        move = _MOVES.get(event.type)
        if move is None:
            if at is not None:
                state = state.with_branches(moved, at=at, seq=seq)
                moved, at = {}, None
            state = fold(state, event)
            seq = state.seq
            continue
        if event.seq != seq + 1:
            raise BrokenHistory(state.commit_key, expected=seq + 1, found=event.seq)
        name = str(event.branch)
        branch = moved[name] if name in moved else state.branches[name]
        moved[name] = move(branch, event, cast("Mapping[str, Any]", event.payload))
        seq, at = event.seq, event.at
    return state if at is None else state.with_branches(moved, at=at, seq=seq)


def fold_recorded(state: StreamState, events: Iterable[Event]) -> StreamState:
    """As ``fold_all``, of events as they were read. Raises ``UnreadableStream`` where they make no sense together."""
    try:
        return fold_all(state, events)
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, EffectsError) as error:
        # Whoever may write events may write anything; what is no history of ours fails where it is taken for one.
        raise UnreadableStream(
            state.commit_key, f"its events do not fit together ({type(error).__name__}: {error})"
        ) from error


def spelled(token: Mapping[str, Any]) -> lane.SpelledToken:
    """A token as the payload of a token event spells it."""
    return lane.SpelledToken(token["text"], token.get("id"), token.get("drafter"))


def _with_branch(state: StreamState, branch: Branch) -> StreamState:
    return altered(state, branches=MappingProxyType({**state.branches, branch.name: branch}))


def _opened(state: StreamState, event: Event, body: Mapping[str, Any]) -> StreamState:
    return altered(
        state,
        seq=event.seq,
        writer_epoch=body["writer_epoch"],
        format=body["format"],
        source=_source(body["from"]),
        binding=body["binding"]["kind"],
        branches_mode=body["branches_mode"],
        threshold=body.get("threshold"),
        parent=body.get("parent"),
        fork_of=body.get("fork_of"),
        labels=MappingProxyType(dict(body.get("labels") or {})),
        opened_at=event.at,
        last_writer_at=event.at,
        branches=MappingProxyType({name: Branch(name) for name in body["branches"]}),
    )


def _source(said: str) -> str:
    if said not in _SOURCES:
        raise ValueError(f"nothing comes from {said!r}")
    return said


def _taken_over(state: StreamState, event: Event, body: Mapping[str, Any]) -> StreamState:
    return altered(state, writer_epoch=body["writer_epoch"], last_writer_at=event.at)


def _drafts_voided(state: StreamState, event: Event, _body: Mapping[str, Any]) -> StreamState:
    return _with_branch(state, lane.void_drafts(state.branches[str(event.branch)]))


def _drafted(branch: Branch, event: Event, body: Mapping[str, Any]) -> Branch:
    return lane.draft(branch, body["tokens"], seq=event.seq)


def _ruled(branch: Branch, event: Event, body: Mapping[str, Any]) -> Branch:
    own = body.get("token")
    return lane.rule(
        branch,
        judged=body["end"] - body["start"],
        accepted=body["accepted"],
        token=None if own is None else spelled(own),
        seq=event.seq,
    )


def _accepted(branch: Branch, event: Event, body: Mapping[str, Any]) -> Branch:
    return lane.accept(branch, body["tokens"], seq=event.seq)


def _moved(move: Move) -> Handler:
    def handle(state: StreamState, event: Event, body: Mapping[str, Any]) -> StreamState:
        branch = move(state.branches[str(event.branch)], event, body)
        return state.with_branches({branch.name: branch}, at=event.at, seq=event.seq)

    return handle


def _finished(state: StreamState, event: Event, body: Mapping[str, Any]) -> StreamState:
    return altered(state, seq=event.seq, finished=body["reason"], last_writer_at=event.at)


def _block_decided(block: BlockState) -> Handler:
    def handle(state: StreamState, event: Event, body: Mapping[str, Any]) -> StreamState:
        cleared_at = event.at if block is BlockState.CLEARED else None
        decided = [
            altered(state.intents[intent_id], block=block, cleared_at=cleared_at)
            for intent_id in body["intents"]
        ]
        return state.with_intents(decided, seq=event.seq)

    return handle


def _held(state: StreamState, event: Event, body: Mapping[str, Any]) -> StreamState:
    known = state.intents.get(body["intent_id"])
    if known is not None:
        back = altered(orphaned(known), state=IntentState.HELD, reason=body.get("reason"), release=None)
        return state.with_intents([back], seq=event.seq)
    intent = Intent(
        intent_id=body["intent_id"],
        branch=str(event.branch),
        round=body["round"],
        start=body["span"][0],
        end=body["span"][1],
        ordinal=body["ordinal"],
        byte_start=body["byte_start"],
        byte_end=body["byte_end"],
        closed_seq=body["closed_seq"],
        held_seq=event.seq,
        tool=body["tool"],
        arguments_raw=body["arguments_raw"],
        arguments_digest=body["arguments_digest"],
        problem=body.get("problem"),
        call_id=body.get("call_id"),
        effect=EffectClass(body["effect"]),
        effect_version=body["effect_version"],
        footprint=Footprint.from_json(body["footprint"]),
        reason=body.get("reason"),
        block_ordinal=body.get("block_ordinal", body["ordinal"]),
        asked_because=body.get("approval"),
        held_at=event.at,
        traceparent=body.get("traceparent"),
    )
    return state.with_intents([intent], seq=event.seq)


def _released(intent: Intent, event: Event, body: Mapping[str, Any]) -> Intent:
    return altered(
        intent,
        released_at=event.at,
        state=IntentState.RELEASED,
        reason=None,
        release=Release(body["release"]),
        effect=EffectClass(body["effect"]),
        effect_version=body["effect_version"],
        footprint=Footprint.from_json(body["footprint"]) if "footprint" in body else intent.footprint,
        definition=body.get("definition"),
        idempotency_key=body.get("idempotency_key"),
        stale=False,
        retry_at=None,
    )


def _ended(to: IntentState) -> Callable[[Intent, Event, Mapping[str, Any]], Intent]:
    def handle(intent: Intent, _event: Event, body: Mapping[str, Any]) -> Intent:
        return altered(
            intent, state=to, reason=body["reason"], detail=body.get("detail"), stale=False, retry_at=None
        )

    return handle


def _call_id(intent: Intent, _event: Event, body: Mapping[str, Any]) -> Intent:
    return altered(intent, call_id=body["call_id"])


def _stale(intent: Intent, _event: Event, _body: Mapping[str, Any]) -> Intent:
    return altered(intent, stale=True, reason="stale")


def _final(intent: Intent, event: Event, _body: Mapping[str, Any]) -> Intent:
    return altered(intent, final=True, final_seq=event.seq, reason=None)


def _dispatch_settled(state: StreamState, event: Event, body: Mapping[str, Any]) -> StreamState:
    source = state.intents[body["intent_id"]]
    state = state.with_intents([attempts.settled(source, event, body)], seq=event.seq)
    return settled_together(state, source, event, body) if source.state is IntentState.VOIDED else state


def _of_intent(handle: Callable[[Intent, Event, Mapping[str, Any]], Intent]) -> Handler:
    def apply(state: StreamState, event: Event, body: Mapping[str, Any]) -> StreamState:
        changed = handle(state.intents[body["intent_id"]], event, body)
        return state.with_intents([changed], seq=event.seq)

    return apply


_MOVES: Mapping[EventType, Move] = {
    EventType.TOKENS_DRAFTED: _drafted,
    EventType.TOKENS_RULED: _ruled,
    EventType.TOKENS_ACCEPTED: _accepted,
}

_HANDLERS: Mapping[EventType, Handler] = {
    **{type_: _moved(move) for type_, move in _MOVES.items()},
    EventType.STREAM_OPENED: _opened,
    EventType.STREAM_TAKEN_OVER: _taken_over,
    EventType.DRAFTS_VOIDED: _drafts_voided,
    EventType.STREAM_FINISHED: _finished,
    EventType.BLOCK_CLEARED: _block_decided(BlockState.CLEARED),
    EventType.BLOCK_VOIDED: _block_decided(BlockState.VOIDED),
    EventType.INTENT_HELD: _held,
    EventType.INTENT_RELEASED: _of_intent(_released),
    EventType.INTENT_REFUSED: _of_intent(_ended(IntentState.REFUSED)),
    EventType.INTENT_VOIDED: _of_intent(_ended(IntentState.VOIDED)),
    EventType.INTENT_ADOPTED: adopted,
    EventType.INTENT_AWAITING_APPROVAL: _of_intent(approval.asked),
    EventType.INTENT_APPROVED: _of_intent(approval.approved),
    EventType.INTENT_DENIED: _of_intent(_ended(IntentState.DENIED)),
    EventType.INTENT_CALL_ID: _of_intent(_call_id),
    EventType.INTENT_STALE: _of_intent(_stale),
    EventType.INTENT_FINAL: _of_intent(_final),
    EventType.DISPATCH_STARTED: _of_intent(attempts.started),
    EventType.DISPATCH_SETTLED: _dispatch_settled,
    EventType.DISPATCH_EXPIRED: _of_intent(attempts.expired),
    EventType.DISPATCH_IN_DOUBT: _of_intent(attempts.in_doubt),
    EventType.DISPATCH_PROBED: _of_intent(attempts.probed),
    EventType.DISPATCH_RESOLVED: _of_intent(attempts.resolved),
    EventType.DISPATCH_LATE: _of_intent(attempts.late),
    EventType.PAYLOAD_REDACTED: blanked,
}
