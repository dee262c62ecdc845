"""Doubts: dispatches that may or may not have happened, and the word of a person that settles them."""

from effects.intent import IntentState
from gateway.errors import InvalidRequest
from gateway.failpoints import FailPoint, reached
from gateway.principal import Principal, Role
from gateway.service.views import View
from gateway.service.waiting import LISTED, Waiting
from gateway.turn.dispatching import resolve
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.listing import list_intents
from ledger.state import Intent


class Doubts(Waiting):
    """The open doubts of all tenants."""

    def list(self, principal: Principal) -> list[View]:
        """Every intent in doubt, the latest commit keys first."""
        principal.require(Role.OPERATOR, Role.AUDITOR)
        rows = list_intents(self._engine, principal.tenant, state=IntentState.IN_DOUBT, limit=LISTED)
        return self._views(principal.tenant, rows, IntentState.IN_DOUBT, provisional=True)

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

        def say(unfolding: Unfolding, force: TableInForce, intent: Intent) -> None:
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

        state = self._write(principal, commit_key, intent_id, say)
        reached(FailPoint.RESOLUTION_COMMITTED)
        return self._written(principal, state, intent_id, provisional=True)
