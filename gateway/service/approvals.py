"""Approvals: calls that wait for a person, and the person's word (interface.md, ``/v1/approvals``)."""

from typing import cast

from effects.intent import IntentState
from gateway.errors import ApprovalOfOtherDefinition, InvalidRequest
from gateway.principal import Principal, Role
from gateway.service.views import View
from gateway.service.waiting import LISTED, Say, Waiting
from gateway.turn import approving
from gateway.turn.advance import advance
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.listing import list_awaiting_approval
from ledger.state import Intent


class Approvals(Waiting):
    """What awaits approval, of all tenants."""

    def list(self, principal: Principal) -> list[View]:
        """Every intent that awaits approval, the latest commit keys first."""
        principal.require(Role.OPERATOR, Role.AUDITOR)
        rows = list_awaiting_approval(self._engine, principal.tenant, limit=LISTED)
        return self._views(principal.tenant, rows, IntentState.AWAITING_APPROVAL)

    def approve(
        self,
        principal: Principal,
        commit_key: str,
        intent_id: str,
        *,
        note: str | None = None,
        arguments_digest: str | None = None,
        definition: str | None = None,
    ) -> View:
        """Let the call be sent once. ``arguments_digest``: that of the arguments the caller has seen; ``definition``: that of
        what the caller has seen of the tool.

        Raises ``NotAwaitingApproval``, ``ApprovalOfOtherArguments``, ``UnknownIntent``, ``UnknownCommitKey``, and
        ``ApprovalOfOtherDefinition``; where the table was changed since it was asked, the call is asked about anew then.
        """
        asked_anew = False

        def say(unfolding: Unfolding, force: TableInForce, intent: Intent) -> None:
            nonlocal asked_anew
            asked_anew = approving.ask_anew(unfolding, force, intent_id)
            if not asked_anew:
                approving.approve(
                    unfolding,
                    force,
                    intent,
                    by=principal.name,
                    note=note,
                    arguments_digest=arguments_digest,
                    definition=definition,
                )

        view = self._decide(principal, commit_key, intent_id, say)
        if asked_anew:
            shown = cast("View", view["asked"])["definition"]
            raise ApprovalOfOtherDefinition(
                "the effect table was changed since approval was asked for: look at what it says of the tool now",
                definition=shown,
            )
        return view

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

        def and_what_follows(unfolding: Unfolding, force: TableInForce, intent: Intent) -> None:
            say(unfolding, force, intent)
            advance(unfolding, force)

        state = self._write(principal, commit_key, intent_id, and_what_follows)
        return self._written(principal, state, intent_id)
