"""Doubts: dispatches that may or may not have happened, and the word of a person that settles them."""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Engine

from effects.intent import IntentState
from gateway.errors import InvalidRequest, UnknownCommitKey, UnknownIntent
from gateway.failpoints import FailPoint, reached
from gateway.principal import Principal, Role
from gateway.service.forks import begin
from gateway.service.streams import Wake
from gateway.service.tables import EffectTables
from gateway.service.views import UNREADABLE, View, intent_view, reasons_under, row_view
from gateway.turn.dispatching import resolve
from ledger.append import Change, Ledger
from ledger.listing import list_intents
from ledger.state import StreamState

LISTED = 10_000
"""Doubts listed at once, at most."""


class Doubts:
    """The open doubts of all tenants."""

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        tables: EffectTables,
        clock: Callable[[], datetime],
        wake: Wake = lambda: None,
    ) -> None:
        self._engine = engine
        self._ledger = ledger
        self._tables = tables
        self._clock = clock
        self._wake = wake

    def list(self, principal: Principal) -> list[View]:
        """Every intent in doubt, the latest commit keys first."""
        principal.require(Role.OPERATOR, Role.AUDITOR)
        force = self._tables.current(principal.tenant)
        views = []
        for row in list_intents(self._engine, principal.tenant, state=IntentState.IN_DOUBT, limit=LISTED):
            try:
                state = self._ledger.read(principal.tenant, str(row["commit_key"]))
            except UNREADABLE:
                # One stream that cannot be read must not hide the others, nor itself.
                views.append(row_view(row))
                continue
            intent = state.intents[str(row["intent_id"])]
            if intent.state is IntentState.IN_DOUBT:
                reasons = reasons_under(begin(self._ledger, state, self._clock()), force)
                views.append(intent_view(state, intent, reasons, provisional=True))
        return views

    def resolve(
        self,
        principal: Principal,
        commit_key: str,
        intent_id: str,
        *,
        happened: bool,
        reason: str,
        evidence: object = None,
    ) -> View:
        """Settle a doubt. Raises ``NotInDoubt``, ``UnknownIntent``, ``UnknownCommitKey``, ``InvalidRequest`` (no reason)."""
        principal.require(Role.OPERATOR)
        if not reason.strip():
            raise InvalidRequest("a resolution needs a reason")
        reached(FailPoint.RESOLUTION_RECEIVED)

        def decide(state: StreamState) -> Change:
            if not state.exists:
                raise UnknownCommitKey(commit_key)
            intent = state.intents.get(intent_id)
            if intent is None:
                raise UnknownIntent(intent_id)
            force = self._tables.current(principal.tenant)
            unfolding = begin(self._ledger, state, self._clock())
            resolve(
                unfolding,
                force,
                intent,
                happened=happened,
                reason=reason,
                by=principal.name,
                evidence=evidence,
            )
            reached(FailPoint.RESOLUTION_DECIDED)
            return Change(unfolding.events)

        state = self._ledger.append(principal.tenant, commit_key, decide).state
        reached(FailPoint.RESOLUTION_COMMITTED)
        self._wake()
        force = self._tables.current(principal.tenant)
        reasons = reasons_under(begin(self._ledger, state, self._clock()), force)
        return intent_view(state, state.intents[intent_id], reasons, provisional=True)
