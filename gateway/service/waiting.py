"""Calls that wait for a person, in doubt or for an approval: how they are listed, and how a person's word is written."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from itertools import groupby

from sqlalchemy import Engine

from effects.intent import IntentState
from gateway.errors import UnknownCommitKey, UnknownIntent
from gateway.principal import Principal
from gateway.service.forks import begin
from gateway.service.streams import Wake
from gateway.service.tables import EffectTables
from gateway.service.views import UNREADABLE, View, intent_view, reasons_under, row_view
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.append import Change, Ledger
from ledger.state import Intent, StreamState

LISTED = 10_000
"""Calls listed at once, at most."""

Say = Callable[[Unfolding, TableInForce, Intent], None]


class Waiting:
    """What waits for a person, of all tenants. ``wake`` tells a dispatcher in this process that there may be work."""

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        tables: EffectTables,
        clock: Callable[[], datetime],
        wake: Wake = lambda: None,
    ) -> None:
        """See the class."""
        self._engine = engine
        self._ledger = ledger
        self._tables = tables
        self._clock = clock
        self._wake = wake

    def _views(
        self,
        tenant: str,
        rows: Iterable[Mapping[str, object]],
        waits_in: IntentState,
        *,
        provisional: bool = False,
    ) -> list[View]:
        """The calls of these rows of the projection, one stream's together, as far as they still wait."""
        views: list[View] = []
        for commit_key, of_stream in groupby(rows, key=lambda row: str(row["commit_key"])):
            try:
                state = self._ledger.read(tenant, commit_key)
            except UNREADABLE:
                # One stream that cannot be read must not hide the others, nor itself.
                views.extend(row_view(row) for row in of_stream)
                continue
            intents = (state.intents[str(row["intent_id"])] for row in of_stream)
            # What waits for a person has its reason in the ledger: the gate need not be asked.
            views.extend(
                intent_view(state, intent, lambda _intent: None, provisional=provisional)
                for intent in intents
                if intent.state is waits_in
            )
        return views

    def _write(self, principal: Principal, commit_key: str, intent_id: str, say: Say) -> StreamState:
        """Append what ``say`` adds about the intent. Raises ``UnknownCommitKey``, ``UnknownIntent``, what ``say`` raises."""

        def decide(state: StreamState) -> Change:
            if not state.exists:
                raise UnknownCommitKey(commit_key)
            intent = state.intents.get(intent_id)
            if intent is None:
                raise UnknownIntent(intent_id)
            force = self._tables.current(principal.tenant)
            unfolding = begin(self._ledger, state, self._clock())
            say(unfolding, force, intent)
            return unfolding.change()

        return self._ledger.append(principal.tenant, commit_key, decide).state

    def _written(
        self, principal: Principal, state: StreamState, intent_id: str, *, provisional: bool = False
    ) -> View:
        """Tell of what was written, and show the intent as it is now."""
        self._wake()
        reasons = reasons_under(
            begin(self._ledger, state, self._clock()), self._tables.current(principal.tenant)
        )
        return intent_view(state, state.intents[intent_id], reasons, provisional=provisional)
