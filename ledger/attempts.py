"""What becomes of the attempts to send an intent: started, settled, lost, in doubt, resolved. Pure; part of the fold."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from effects.intent import IntentState, Release, ResultStatus
from ledger import approval
from ledger.altered import altered
from ledger.events import Event
from ledger.state import Intent


def started(intent: Intent, event: Event, body: Mapping[str, Any]) -> Intent:
    """After ``dispatch.started``: it is under way, and whatever it had before counts no more."""
    return altered(
        intent,
        state=IntentState.DISPATCHED,
        reason=None,
        attempts=body["attempt"],
        open_attempt=body["attempt"],
        dispatch_seq=event.seq,
        dispatched_at=event.at,
        first_dispatched_at=intent.first_dispatched_at or event.at,
        settled_seq=None,
        answered_early=intent.release is Release.EARLY,
        approval=approval.spent(intent.approval, body["attempt"]),
        inside=body.get("inside") is True,
        sent_definition=intent.definition,
        adopted_from=None,
        adopted_attempt=None,
        result_status=None,
        result_content=None,
    )


def settled(intent: Intent, event: Event, body: Mapping[str, Any]) -> Intent:
    """After ``dispatch.settled``: the answer of the attempt that is awaited; one of another attempt changes nothing."""
    if body["attempt"] != intent.open_attempt:
        return intent
    answered = _answered(intent, event, body)
    if body.get("unsent") is not True:
        return answered
    # What a person allowed was not done.
    unspent = approval.spent(intent.approval, None)
    return altered(answered, unsent_attempts=intent.unsent_attempts + 1, approval=unspent)


def expired(intent: Intent, _event: Event, body: Mapping[str, Any]) -> Intent:
    """After ``dispatch.expired``: the attempt is lost, and the call may be sent again."""
    since = body.get("since")
    if since is not None and _unanswered(intent) and body["attempt"] == intent.attempts + 1:
        # Sent, for all that is known, by an earlier incarnation of the database, at the earliest when it was let go.
        return altered(
            intent,
            state=IntentState.HELD,
            reason=body["because"],
            release=None,
            attempts=body["attempt"],
            first_dispatched_at=datetime.fromisoformat(since),
        )
    if body["attempt"] != intent.open_attempt:
        return intent
    if intent.state is IntentState.VOIDED:
        return altered(intent, open_attempt=None)
    retry_at = body.get("retry_at")
    return altered(
        intent,
        state=IntentState.HELD,
        reason=body["because"],
        release=None,
        open_attempt=None,
        retry_at=None if retry_at is None else datetime.fromisoformat(retry_at),
    )


def in_doubt(intent: Intent, event: Event, body: Mapping[str, Any]) -> Intent:
    """After ``dispatch.in_doubt``: nobody knows whether the attempt happened."""
    # An expired attempt may turn out to be one that must not be repeated; one that is not known, one that was lost with
    # an earlier incarnation of the database.
    attempt = body["attempt"]
    known = (intent.attempts, intent.attempts + 1) if _unanswered(intent) else (intent.open_attempt,)
    if attempt not in known:
        return intent
    return altered(
        intent,
        state=IntentState.IN_DOUBT,
        reason=body["because"],
        open_attempt=None,
        attempts=attempt,
        doubted_at=event.at,
        probes=0,
    )


def probed(intent: Intent, _event: Event, _body: Mapping[str, Any]) -> Intent:
    """After ``dispatch.probed``: a look that settled nothing by itself."""
    return altered(intent, probes=intent.probes + 1)


def resolved(intent: Intent, event: Event, body: Mapping[str, Any]) -> Intent:
    """After ``dispatch.resolved``: the doubt is over, at the word of a person or of a probe."""
    return altered(_answered(intent, event, body), resolved=True)


def late(intent: Intent, event: Event, body: Mapping[str, Any]) -> Intent:
    """After ``dispatch.late``: an answer that nobody waited for settles a doubt that is open, and nothing else."""
    unresolved = intent.state is IntentState.IN_DOUBT and body["attempt"] == intent.attempts
    return _answered(intent, event, body) if unresolved else intent


def _answered(intent: Intent, event: Event, body: Mapping[str, Any]) -> Intent:
    state = intent.state if intent.state is IntentState.VOIDED else IntentState.SETTLED
    return altered(
        intent,
        state=state,
        reason=intent.reason if state is IntentState.VOIDED else None,
        open_attempt=None,
        settled_seq=event.seq,
        result_status=ResultStatus(body["status"]),
        result_content=body.get("content"),
    )


def _unanswered(intent: Intent) -> bool:
    return intent.open_attempt is None and intent.state in (
        IntentState.HELD,
        IntentState.AWAITING_APPROVAL,
        IntentState.RELEASED,
    )
