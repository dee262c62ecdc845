"""Intents: posting them, and waiting for what becomes of them."""

from collections.abc import Callable
from datetime import datetime

from effects.intent import IntentState
from gateway.errors import UnknownCommitKey, UnknownIntent
from gateway.principal import Principal, Role
from gateway.service.forks import begin
from gateway.service.streams import Wake
from gateway.service.tables import EffectTables
from gateway.service.views import View, intent_view, reasons_under
from gateway.turn.advance import advance
from gateway.turn.posting import PostedIntent, post_intent
from gateway.turn.scanner import BlockScanner
from ledger.append import Change, Ledger
from ledger.state import Intent, StreamState


class Intents:
    """The intents of all tenants."""

    def __init__(
        self,
        ledger: Ledger,
        tables: EffectTables,
        scanner: BlockScanner,
        clock: Callable[[], datetime],
        wake: Wake = lambda: None,
    ) -> None:
        self._ledger = ledger
        self._tables = tables
        self._scanner = scanner
        self._clock = clock
        self._wake = wake

    def post(
        self, principal: Principal, commit_key: str, posted: PostedIntent, *, traceparent: str | None = None
    ) -> tuple[View, bool]:
        """Hold the call, or find it: (the intent, whether it is a replay). ``traceparent``: kept with a call that is held.

        Raises what ``gateway.turn.posting.post_intent`` raises, and ``UnknownCommitKey``.
        """
        principal.require(Role.RUNTIME)
        intent_id, replayed = "", False

        def decide(state: StreamState) -> Change:
            nonlocal intent_id, replayed
            if not state.exists:
                raise UnknownCommitKey(commit_key)
            force = self._tables.current(principal.tenant)
            unfolding = begin(self._ledger, state, self._clock())
            unfolding.traceparent = traceparent
            intent, replayed = post_intent(unfolding, posted, self._scanner, force)
            intent_id = intent.intent_id
            advance(unfolding, force)
            return unfolding.change()

        state = self._ledger.append(principal.tenant, commit_key, decide).state
        self._wake()
        return self._view(principal, state, state.intents[intent_id]), replayed

    def get(
        self, principal: Principal, commit_key: str, intent_id: str, *, provisional: bool = False
    ) -> tuple[View, bool]:
        """(the intent, whether nothing more is to be waited for). Raises ``UnknownCommitKey``, ``UnknownIntent``.

        A provisional result is shown to auditors and operators only.
        """
        principal.require(Role.RUNTIME, Role.AUDITOR, Role.OPERATOR)
        if provisional:
            principal.require(Role.AUDITOR, Role.OPERATOR)
        state = self._ledger.read(principal.tenant, commit_key)
        if not state.exists:
            raise UnknownCommitKey(commit_key)
        intent = state.intents.get(intent_id)
        if intent is None:
            raise UnknownIntent(intent_id)
        rests = intent.terminal or intent.state is IntentState.IN_DOUBT
        return self._view(principal, state, intent, provisional=provisional), rests

    def _view(
        self, principal: Principal, state: StreamState, intent: Intent, *, provisional: bool = False
    ) -> View:
        reasons = reasons_under(
            begin(self._ledger, state, self._clock()), self._tables.current(principal.tenant)
        )
        return intent_view(state, intent, reasons, provisional=provisional)
