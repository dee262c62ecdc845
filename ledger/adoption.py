"""Adoption: a read that takes the answer of a voided early read for its own. Pure; part of the fold (design.md, "Life of
an intent").
"""

from collections.abc import Mapping
from typing import Any

from effects.intent import IntentState, ResultStatus
from ledger.altered import altered
from ledger.events import Event
from ledger.state import Intent, StreamState


def adopted(state: StreamState, _event: Event, body: Mapping[str, Any]) -> StreamState:
    """The state after ``intent.adopted``: the intent stands as the dispatch does that it adopts, and is as old as it."""
    intent, source = state.intents[body["intent_id"]], state.intents[body["from"]]
    in_flight = source.open_attempt is not None
    after = altered(
        intent,
        state=IntentState.DISPATCHED if in_flight else IntentState.SETTLED,
        reason=None,
        stale=False,
        dispatch_seq=source.dispatch_seq,
        dispatched_at=source.dispatched_at,
        settled_seq=None if in_flight else source.settled_seq,
        answered_early=True,
        adopted_from=source.intent_id,
        adopted_attempt=body["attempt"],
        result_status=None if in_flight else source.result_status,
        result_content=None if in_flight else source.result_content,
    )
    return state.with_intents([after])


def settled_together(
    state: StreamState, source: Intent, event: Event, body: Mapping[str, Any]
) -> StreamState:
    """The state after the outcome of a voided read: whoever adopted it while it was in flight has its answer now.

    ``unavailable`` is no answer: who adopted that is held again, by an event of its own. ``source``: as it was before.
    """
    status = ResultStatus(body["status"])
    if source.open_attempt != body["attempt"] or status is ResultStatus.UNAVAILABLE:
        return state
    return state.with_intents(
        altered(
            intent,
            state=IntentState.SETTLED,
            reason=None,
            settled_seq=event.seq,
            result_status=status,
            result_content=None if intent.redacted else body.get("content"),
        )
        for intent in waiting(state, source.intent_id, body["attempt"])
    )


def waiting(state: StreamState, source_id: str, attempt: int) -> list[Intent]:
    """The intents that adopted this dispatch and wait for its outcome."""
    return [
        intent
        for intent in state.intents.values()
        if intent.adopted_from == source_id
        and intent.adopted_attempt == attempt
        and intent.state is IntentState.DISPATCHED
    ]


def orphaned(intent: Intent) -> Intent:
    """The intent without the dispatch that it adopted; itself where it adopted none."""
    if intent.adopted_from is None:
        return intent
    return altered(
        intent,
        adopted_from=None,
        adopted_attempt=None,
        dispatch_seq=None,
        dispatched_at=None,
        settled_seq=None,
        answered_early=False,
        result_status=None,
        result_content=None,
    )
