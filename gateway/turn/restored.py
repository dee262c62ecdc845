"""What becomes of a stream's unsettled calls when the database came back as another incarnation of itself.

What it had let go of may have been sent in what it lost, and so may a cleared call that waited for its turn or for a
person: in what was lost the turn may have come, or the approval. So a WRITE is in doubt, and is not sent by anybody's
guess. An IDEMPOTENT call goes on under its key, its window counted from when it may first have been sent. Reads are sent
again as ever.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from effects.classes import EffectClass
from effects.intent import BlockState, IntentState
from gateway.turn.advance import advance
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from ledger.incarnation import RESTORED
from ledger.state import Intent

_UNSENT = (IntentState.HELD, IntentState.AWAITING_APPROVAL, IntentState.RELEASED)


def doubt_unsettled(unfolding: Unfolding, force: TableInForce, since: Mapping[str, datetime]) -> None:
    """Record for every call that is no read what may have become of it. Asked again, it adds nothing.

    ``since``: when each intent was first let go (``Incarnations.let_go_since``). A call that the ledger knows as sent is
    in doubt at once; its outcome, if its dispatcher lives, comes late and settles it. One that it knows as let go is in
    doubt under the number of the attempt that would have come next, so that the outcome of that attempt settles it.
    """
    for intent in list(unfolding.state.intents.values()):
        if intent.effect is EffectClass.READ_ONLY or intent.block is not BlockState.CLEARED:
            continue
        if intent.state is IntentState.DISPATCHED and intent.inside:
            # It would be here together with its outcome: whoever finds its lease run out sends it again.
            continue
        if intent.state is IntentState.DISPATCHED and intent.effect is EffectClass.WRITE:
            unfolding.emit_for(
                EventType.DISPATCH_IN_DOUBT, intent, attempt=intent.open_attempt, because=RESTORED
            )
        elif intent.state in _UNSENT:
            _doubt_unsent(unfolding, force, intent, since)
    advance(unfolding, force)


def _doubt_unsent(
    unfolding: Unfolding, force: TableInForce, intent: Intent, since: Mapping[str, datetime]
) -> None:
    attempt = intent.attempts + 1
    if intent.effect is EffectClass.WRITE:
        unfolding.emit_for(EventType.DISPATCH_IN_DOUBT, intent, attempt=attempt, because=RESTORED)
        return
    if intent.first_dispatched_at is not None:
        # It may have been sent as it is, and the window counts from then.
        return
    first = since.get(intent.intent_id)
    window = force.classify(intent.tool, intent.arguments_raw).window
    if first is None or window is None or unfolding.now - first >= timedelta(seconds=window):
        unfolding.emit_for(EventType.DISPATCH_IN_DOUBT, intent, attempt=attempt, because=RESTORED)
    else:
        unfolding.emit_for(
            EventType.DISPATCH_EXPIRED, intent, attempt=attempt, because=RESTORED, since=first.isoformat()
        )
