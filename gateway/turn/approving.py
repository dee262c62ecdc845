"""Approval: whether a person has to decide about a call, and what the person's word makes of it.

A word is bound to one intent, to the digest of its arguments and to what the table says of its tool (``effects.definition``),
is spent by the dispatch that it lets go, and must be claimed before it expires. It is asked for when the block is cleared,
never before (design.md, "Life of an intent"), and once more where the table says otherwise of the tool than was shown.
"""

from datetime import datetime, timedelta

from effects.approval import Because
from effects.intent import IntentState
from gateway.errors import ApprovalOfOtherArguments, ApprovalOfOtherDefinition, NotAwaitingApproval
from gateway.turn.standing import Case, Standing
from gateway.turn.tables import TableInForce, arguments, other_definition
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from ledger.state import Intent

AWAITING = "awaiting_approval"
"""The gate's reason to hold a call that nobody has approved."""


def needed(case: Case, now: datetime) -> str | None:
    """Why a person has to decide about this call; None if nobody has to.

    It has to be so at its creation, or once it was asked for, or under the table in force now.
    """
    if case.intent.asked_because is not None:
        return case.intent.asked_because
    rule = case.judged.approval
    return None if rule is None else rule.asks(arguments(case.intent.arguments_raw), now)


def allowed(case: Case, now: datetime) -> bool:
    """Whether a person's word is not needed, or is there and good.

    A spent one covers its dispatch until the outcome is known: what was lost is sent again without another word.
    """
    if needed(case, now) is None:
        return True
    intent, approval = case.intent, case.intent.approval
    if approval is None or approval.arguments_digest != intent.arguments_digest or _redefined(case):
        return False
    if approval.spent_on is None:
        return now < approval.expires_at
    return approval.spent_on == intent.attempts and intent.settled_seq is None


def ask(unfolding: Unfolding, force: TableInForce, case: Case, because: str | None = None) -> None:
    """Ask for a person's word about a cleared call. ``because``: as ``effects.approval.Because`` has it; None: as needed.

    Whoever asks for a reason of his own (``FORK_REPEATS``) asks once; from then on the call waits like any other.
    """
    changed = Because.DEFINITION_CHANGED if _redefined(case) or shown_otherwise(case) else None
    upstream = case.judged.upstream
    reason = because or changed or needed(case, unfolding.now) or Because.REQUIRED
    unfolding.emit_for(
        EventType.INTENT_AWAITING_APPROVAL,
        case.intent,
        because=str(reason),
        arguments_digest=case.intent.arguments_digest,
        effect=case.effect.value,
        effect_version=force.version,
        footprint=case.view.footprint.to_json(),
        upstream=None if upstream is None else upstream.model_dump(mode="json", exclude_none=True),
        definition=case.judged.definition,
    )


def ask_anew(unfolding: Unfolding, force: TableInForce, intent_id: str) -> bool:
    """Ask again about a call that awaits a word, if the table now says otherwise of its tool than the person was shown."""
    case = Standing(unfolding, force).case(intent_id)
    if case.intent.state is not IntentState.AWAITING_APPROVAL or not shown_otherwise(case):
        return False
    ask(unfolding, force, case)
    return True


def approve(
    unfolding: Unfolding,
    force: TableInForce,
    intent: Intent,
    *,
    by: str,
    note: str | None,
    arguments_digest: str | None = None,
    definition: str | None = None,
) -> None:
    """Let the call be sent, once, with the arguments that it has and to the tool that was shown, until the tool's
    ``approval_expires``.

    ``arguments_digest``: that of the arguments the person has seen; ``definition``: that of what the person has seen of the
    tool, needed where the call was asked about anew because that changed. Raises ``ApprovalOfOtherArguments`` and
    ``ApprovalOfOtherDefinition`` where they are not the call's, ``NotAwaitingApproval``. What follows is ``advance``'s.
    """
    _check(intent, arguments_digest)
    judged = force.classify(intent.tool, intent.arguments_raw)
    _check_definition(intent, judged.definition, seen=definition)
    unfolding.emit_for(
        EventType.INTENT_APPROVED,
        intent,
        arguments_digest=intent.arguments_digest,
        by=by,
        note=note,
        expires_at=(unfolding.now + timedelta(seconds=judged.approval_seconds)).isoformat(),
        definition=judged.definition,
    )


def deny(
    unfolding: Unfolding, intent: Intent, *, by: str, reason: str, arguments_digest: str | None = None
) -> None:
    """End the call: it is never sent. Arguments and errors are those of ``approve``."""
    _check(intent, arguments_digest)
    unfolding.emit_for(
        EventType.INTENT_DENIED, intent, arguments_digest=intent.arguments_digest, by=by, reason=reason
    )


def shown_otherwise(case: Case) -> bool:
    """Whether a person was shown something else of the tool than the table says now."""
    asked = case.intent.asked
    return asked is not None and other_definition(asked.definition, case.judged.definition)


def _redefined(case: Case) -> bool:
    """Whether a word that was given is about another tool than the table has now."""
    approval = case.intent.approval
    return approval is not None and other_definition(approval.definition, case.judged.definition)


def _check_definition(intent: Intent, now: str | None, *, seen: str | None) -> None:
    shown = None if intent.asked is None else intent.asked.definition
    # Whoever was asked before the call was asked about anew has seen another tool, and does not know it.
    unsaid = seen is None and shown is not None and intent.asked_because == Because.DEFINITION_CHANGED
    if unsaid:
        raise ApprovalOfOtherDefinition(
            "the effect table was changed since approval was asked for at first: name the definition that you have seen",
            definition=now,
        )
    if other_definition(shown, now) or other_definition(seen, now):
        raise ApprovalOfOtherDefinition(
            "the effect table says otherwise of the tool than the approval is about", definition=now
        )


def _check(intent: Intent, arguments_digest: str | None) -> None:
    if arguments_digest is not None and arguments_digest != intent.arguments_digest:
        raise ApprovalOfOtherArguments(
            "the arguments of the intent are others than those that the approval names",
            arguments_digest=intent.arguments_digest,
        )
    if intent.state is not IntentState.AWAITING_APPROVAL:
        raise NotAwaitingApproval(f"the intent is {intent.state.value}, it awaits no approval")
