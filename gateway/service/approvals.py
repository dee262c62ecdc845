"""Approvals: calls that wait for a person, and the person's word (interface.md, ``/v1/approvals``)."""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Engine

from effects.intent import IntentState
from gateway.errors import InvalidRequest, UnknownCommitKey, UnknownIntent
from gateway.principal import Principal, Role
from gateway.service.forks import begin
from gateway.service.streams import Wake
from gateway.service.tables import EffectTables
from gateway.service.views import UNREADABLE, View, intent_view, reasons_under, row_view
from gateway.turn import approving
from gateway.turn.advance import advance
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.append import Change, Ledger
from ledger.listing import list_awaiting_approval
from ledger.state import Intent, StreamState

LISTED = 10_000
"""Calls listed at once, at most."""

Say = Callable[[Unfolding, TableInForce, Intent], None]


class Approvals:
    """What awaits approval, of all tenants. ``wake`` tells a dispatcher in this process that there may be work."""

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

    def list(self, principal: Principal) -> list[View]:
        """Every intent that awaits approval, the latest commit keys first."""
        principal.require(Role.OPERATOR, Role.AUDITOR)
        views = []
        for row in list_awaiting_approval(self._engine, principal.tenant, limit=LISTED):
            try:
                state = self._ledger.read(principal.tenant, str(row["commit_key"]))
            except UNREADABLE:
                # One stream that cannot be read must not hide the others, nor itself.
                views.append(row_view(row))
                continue
            intent = state.intents[str(row["intent_id"])]
            if intent.state is IntentState.AWAITING_APPROVAL:
                views.append(intent_view(state, intent, lambda _intent: None))
        return views

    def approve(
        self,
        principal: Principal,
        commit_key: str,
        intent_id: str,
        *,
        note: str | None = None,
        arguments_digest: str | None = None,
    ) -> View:
        """Let the call be sent once. ``arguments_digest``: that of the arguments the caller has seen.

        Raises ``NotAwaitingApproval``, ``ApprovalOfOtherArguments``, ``UnknownIntent``, ``UnknownCommitKey``.
        """

        def say(unfolding: Unfolding, force: TableInForce, intent: Intent) -> None:
            approving.approve(
                unfolding,
                force,
                intent,
                by=principal.name,
                note=note,
                arguments_digest=arguments_digest,
            )

        return self._decide(principal, commit_key, intent_id, say)

    def deny(
        self,
        principal: Principal,
        commit_key: str,
        intent_id: str,
        *,
        reason: str,
        arguments_digest: str | None = None,
    ) -> View:
        """End the call unsent. Raises ``InvalidRequest`` (no reason), and what ``approve`` raises."""
        if not reason.strip():
            raise InvalidRequest("a denial needs a reason")

        def say(unfolding: Unfolding, _force: TableInForce, intent: Intent) -> None:
            approving.deny(
                unfolding, intent, by=principal.name, reason=reason, arguments_digest=arguments_digest
            )

        return self._decide(principal, commit_key, intent_id, say)

    def _decide(self, principal: Principal, commit_key: str, intent_id: str, say: Say) -> View:
        principal.require(Role.OPERATOR)

        def decide(state: StreamState) -> Change:
            if not state.exists:
                raise UnknownCommitKey(commit_key)
            intent = state.intents.get(intent_id)
            if intent is None:
                raise UnknownIntent(intent_id)
            force = self._tables.current(principal.tenant)
            unfolding = begin(self._ledger, state, self._clock())
            say(unfolding, force, intent)
            advance(unfolding, force)
            return Change(unfolding.events)

        state = self._ledger.append(principal.tenant, commit_key, decide).state
        self._wake()
        reasons = reasons_under(
            begin(self._ledger, state, self._clock()), self._tables.current(principal.tenant)
        )
        return intent_view(state, state.intents[intent_id], reasons)
