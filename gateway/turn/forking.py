"""Forks: a WRITE that repeats one of what its message forked from is for a person to decide (design.md, "Life of an
intent"). Pure.
"""

from collections.abc import Set as AbstractSet

from effects.classes import EffectClass
from effects.intent import IntentState
from gateway.turn.standing import Case
from gateway.turn.unfolding import Inherited
from ledger.state import Intent, StreamState

MAX_FORKS = 64
"""Longest chain of messages that fork from each other."""

_SENT = (IntentState.DISPATCHED, IntentState.IN_DOUBT, IntentState.SETTLED)


def inheritance(state: StreamState) -> Inherited:
    """What a fork of this message must not repeat unasked: its WRITEs that are settled, in doubt or in flight.

    As (tool, digest of the canonical arguments). Of a redacted one the digest is gone: None stands for every one.
    """
    return frozenset(
        (intent.tool, None if intent.redacted else intent.arguments_digest)
        for intent in state.intents.values()
        if intent.effect is EffectClass.WRITE and _may_have_happened(intent)
    )


def repeats(inherited: Inherited, case: Case) -> bool:
    """Whether this call is equal to a WRITE that it inherited, and nobody was asked about it yet."""
    intent = case.intent
    if not inherited or case.effect is not EffectClass.WRITE or intent.asked_because is not None:
        return False
    return _among(inherited, intent)


def _among(inherited: AbstractSet[tuple[str | None, str | None]], intent: Intent) -> bool:
    spelled = {(intent.tool, intent.arguments_digest), (intent.tool, None), (None, None)}
    return not spelled.isdisjoint(inherited)


def _may_have_happened(intent: Intent) -> bool:
    return intent.attempts > 0 or intent.state in _SENT
