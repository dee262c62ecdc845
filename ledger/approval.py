"""What approval is to a state: asked for, given by a person, spent. Pure; part of the fold."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from effects.classes import EffectClass
from effects.footprint import Footprint
from effects.intent import IntentState
from ledger.altered import altered
from ledger.events import Event
from ledger.state import Approval, Asked, Intent


def asked(intent: Intent, _event: Event, body: Mapping[str, Any]) -> Intent:
    """After ``intent.awaiting_approval``. That a person has to decide stays true, whatever a table says later."""
    shown = Asked(
        effect=EffectClass(body["effect"]),
        effect_version=body["effect_version"],
        footprint=Footprint.from_json(body["footprint"]) if "footprint" in body else None,
        upstream=body.get("upstream"),
        definition=body.get("definition"),
    )
    return altered(
        intent,
        state=IntentState.AWAITING_APPROVAL,
        reason=body["because"],
        release=None,
        asked_because=body["because"],
        asked=shown,
        approval=None,
    )


def approved(intent: Intent, _event: Event, body: Mapping[str, Any]) -> Intent:
    """After ``intent.approved``: it waits for its turn like any other call."""
    approval = Approval(
        arguments_digest=body["arguments_digest"],
        by=body["by"],
        note=body["note"],
        expires_at=datetime.fromisoformat(body["expires_at"]),
        definition=body.get("definition"),
    )
    return altered(intent, state=IntentState.HELD, reason=None, approval=approval)


def spent(approval: Approval | None, attempt: int | None) -> Approval | None:
    """The approval after ``dispatch.started`` of this attempt; None: it turned out that nothing was sent."""
    return None if approval is None else altered(approval, spent_on=attempt)
