"""The first step of a redaction: the event that names what goes, appended as every other event is."""

from collections.abc import Iterator

from ledger.append import Appended, Change, Ledger
from ledger.errors import IntentNotOver, NotRecorded, ReservedStream, StreamNotOver
from ledger.events import Event
from ledger.redaction.plan import concerned, plan
from ledger.redaction.remains import NameStays
from ledger.state import Intent, StreamState

PAGE = 1000
"""Events that are read at once."""


def record(
    ledger: Ledger,
    tenant: str,
    commit_key: str,
    intent_id: str,
    *,
    by: str,
    reason: str,
    name_stays: NameStays,
) -> Appended:
    """Append the ``payload.redacted`` of an intent; nothing where it is redacted already. Nothing is taken away yet.

    ``by``: who asks, for ``reason``. ``name_stays``: whether a tool's name is an operator's and not the model's. Raises
    ReservedStream, NotRecorded, StreamNotOver, IntentNotOver, and what ``Ledger.append`` raises.
    """

    def decide(state: StreamState) -> Change:
        meant = redactable(state, intent_id)
        if meant.redacted:
            return Change()
        events = _events(ledger, tenant, commit_key, state.seq)
        return Change((plan(state, events, meant, name_stays).event(by=by, reason=reason),))

    return ledger.append(tenant, commit_key, decide)


def redactable(state: StreamState, intent_id: str) -> Intent:
    """The intent, if it may be redacted now, or is. Raises ReservedStream, NotRecorded, StreamNotOver, IntentNotOver."""
    if state.commit_key.startswith("_"):
        raise ReservedStream(
            f"{state.commit_key!r} is a stream of the ledger's own: nothing in it is redacted"
        )
    meant = state.intents.get(intent_id)
    if meant is None:
        raise NotRecorded(f"the stream {state.commit_key!r} has no intent {intent_id!r}")
    if state.finished is None:
        raise StreamNotOver(f"the stream {state.commit_key!r} is not finished")
    for intent in concerned(state, meant):
        if not intent.terminal:
            raise IntentNotOver(f"intent {intent.intent_id!r} is {intent.state.value}, and not over")
    return meant


def _events(ledger: Ledger, tenant: str, commit_key: str, until: int) -> Iterator[Event]:
    after = 0
    while after < until:
        for event in ledger.events(tenant, commit_key, after, min(PAGE, until - after)):
            after = event.seq
            yield event
