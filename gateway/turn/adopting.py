"""Adoption: whether a read may take the answer of a voided early read of its commit key instead of being sent.

design.md, "Life of an intent": tool, canonical arguments and effect version are equal, it is not ``unavailable``, and it
is fresh counted from its original dispatch. While a twin lives, an equal read is not sent early a second time.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from effects.classes import EffectClass
from effects.intent import IntentState, ResultStatus
from gateway.turn.standing import Case, Standing
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from ledger.state import Intent, StreamState


def adoptable(standing: Standing, force: TableInForce, case: Case, now: datetime) -> Intent | None:
    """The voided early read whose answer this call may take; None if there is none.

    Of several the one that was sent last, and one that is answered before one in flight.
    """
    intent = case.intent
    # What was sent itself has an answer of its own, or will have one.
    unsent = intent.state is IntentState.HELD and intent.attempts == 0
    if case.effect is not EffectClass.READ_ONLY or not unsent or intent.effect_version != force.version:
        return None
    found = [
        source
        for source in standing.equal_reads(case)
        if _offers(source)
        and source.effect_version == force.version
        and not too_old(case, source, now)
        and standing.overtaken_by(_as_sent_with(case, source)) is None
    ]
    return max(found, key=lambda s: (s.open_attempt is None, s.dispatch_seq or 0), default=None)


def twin_lives(standing: Standing, case: Case) -> bool:
    """Whether another read that asks the same was let go and is not over."""
    if case.effect is not EffectClass.READ_ONLY:
        return False
    return any(not twin.terminal and _let_go(twin) for twin in standing.equal_reads(case))


def adopt(unfolding: Unfolding, intent: Intent, source: Intent) -> None:
    """Record that ``intent`` takes the answer of the latest dispatch of ``source``."""
    body = {"intent_id": intent.intent_id, "from": source.intent_id, "attempt": source.attempts}
    # The typed column is for dispatches of the intent's own.
    unfolding.emit(EventType.INTENT_ADOPTED, body, branch=intent.branch, intent_id=intent.intent_id)


def left_alone(state: StreamState) -> list[Intent]:
    """The intents that adopted a dispatch in flight which came to nothing: they have to be decided anew."""
    return [
        intent
        for intent in state.intents.values()
        if intent.adopted_from is not None
        and intent.state is IntentState.DISPATCHED
        and state.intents[intent.adopted_from].open_attempt != intent.adopted_attempt
    ]


def too_old(case: Case, sent: Intent, now: datetime) -> bool:
    """Whether the early answer of ``sent``, this call itself or one that it adopts from, is older than ``max_age`` allows."""
    max_age = case.judged.max_age
    if max_age is None or sent.dispatched_at is None or not sent.answered_early:
        return False
    return now - sent.dispatched_at > timedelta(seconds=max_age)


def answer_redacted(state: StreamState, intent: Intent) -> bool:
    """Whether the answer that ``intent`` adopted was taken away with its source, so that there is nothing to give."""
    return intent.adopted_from is not None and state.intents[intent.adopted_from].redacted


def _offers(source: Intent) -> bool:
    if source.state is not IntentState.VOIDED or source.redacted:
        return False
    # An adopted answer is adopted from where it came from.
    if not source.answered_early or source.adopted_from is not None or source.dispatch_seq is None:
        return False
    answered = source.result_status is not None and source.result_status is not ResultStatus.UNAVAILABLE
    return source.open_attempt is not None or answered


def _let_go(twin: Intent) -> bool:
    return twin.state is not IntentState.HELD or twin.attempts > 0


def _as_sent_with(case: Case, source: Intent) -> Case:
    return replace(case, view=replace(case.view, dispatched_seq=source.dispatch_seq))
