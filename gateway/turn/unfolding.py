"""Events of one decision in the making, each folded at once, so that the next step sees what the last one did."""

from datetime import datetime

from ledger.change import Change, Folded, SideRow
from ledger.events import Event, EventType, NewEvent, Payload
from ledger.fold import fold
from ledger.state import Branch, Intent, StreamState

Inherited = frozenset[tuple[str | None, str | None]]
"""Calls as (tool, digest of the canonical arguments); None stands for every one."""


class Unfolding:
    """Collects the events of a decision. ``state`` is what the stream would be if they were appended now.

    ``inherited``: WRITEs of the messages that this one forked from, as far as they may have happened. ``traceparent``: W3C
    trace context of the request that the decision is taken for; calls that it holds keep it.
    """

    def __init__(self, state: StreamState, now: datetime, inherited: Inherited = frozenset()) -> None:
        self.before = state
        self.state = state
        self.now = now
        self.inherited = inherited
        self.traceparent: str | None = None
        self._events: list[NewEvent] = []

    @property
    def events(self) -> tuple[NewEvent, ...]:
        """All events so far, in order."""
        return tuple(self._events)

    @property
    def changed_intents(self) -> tuple[Intent, ...]:
        """The intents that these events touch, by place."""
        changed = [i for i in self.state.intents.values() if self.before.intents.get(i.intent_id) is not i]
        return tuple(sorted(changed, key=lambda i: (i.branch, i.place, i.round)))

    def change(self, side: tuple[SideRow, ...] = ()) -> Change:
        """All of it for the ledger, with the rows that stand or fall with it."""
        return Change(tuple(self._events), side, Folded(self.before, self.state, self.now))

    def branch(self, name: str) -> Branch:
        """The branch as it stands now. KeyError if there is none."""
        return self.state.branches[name]

    def intent(self, intent_id: str) -> Intent:
        """The intent as it stands now. KeyError if there is none."""
        return self.state.intents[intent_id]

    def emit(
        self,
        type_: EventType,
        payload: Payload,
        *,
        branch: str | None = None,
        intent_id: str | None = None,
        attempt: int | None = None,
    ) -> Event:
        """Add one event; ``head_after`` and ``cut_at`` are read off the branch before and after it."""
        seq = self.state.seq + 1
        event = Event(seq, self.now, type_, payload, branch, intent_id, attempt)
        before = self.state.branches.get(branch) if branch is not None else None
        self.state = fold(self.state, event)
        after = self.state.branches.get(branch) if branch is not None else None
        head_after, cut_at = _movement(before, after, payload)
        self._events.append(NewEvent(type_, payload, branch, intent_id, attempt, head_after, cut_at))
        return event

    def emit_for(
        self, type_: EventType, intent: Intent, *, attempt: int | None = None, **payload: object
    ) -> Event:
        """Add one event about an intent; its id (and attempt) stand in the payload and in the typed columns."""
        body: dict[str, object] = {"intent_id": intent.intent_id, **payload}
        if attempt is not None:
            body["attempt"] = attempt
        return self.emit(type_, body, branch=intent.branch, intent_id=intent.intent_id, attempt=attempt)


def _movement(before: Branch | None, after: Branch | None, payload: Payload) -> tuple[int | None, int | None]:
    if before is None or after is None or before is after:
        return None, None
    accepted = payload.get("accepted", 0)
    cut_at = (
        before.head + (accepted if isinstance(accepted, int) else 0) if after.round > before.round else None
    )
    return after.head, cut_at
