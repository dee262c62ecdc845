"""Alarms: what a person has to hear about, as log events at level error."""

import structlog

from ledger.change import Appended
from ledger.events import EventType

_log = structlog.get_logger(__name__)


def alarm_doubts(appended: Appended) -> None:
    """Tell of every call that these events leave in doubt: ``doubt_opened``, once for each."""
    for event in appended.events:
        if event.type is not EventType.DISPATCH_IN_DOUBT:
            continue
        intent = appended.state.intents.get(event.intent_id or "")
        _log.error(
            "doubt_opened",
            tenant=appended.state.tenant,
            commit_key=appended.state.commit_key,
            intent_id=event.intent_id,
            attempt=event.attempt,
            tool=None if intent is None else intent.tool,
            because=event.payload.get("because"),
        )
