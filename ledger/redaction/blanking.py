"""Blanking: what a ``payload.redacted`` makes of a state. Pure; part of the fold."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from effects.footprint import Footprint
from effects.intent import IntentState
from ledger.events import Event
from ledger.state import Branch, Intent, StreamState
from ledger.tokens import Tokens


def blanked(state: StreamState, _event: Event, body: Mapping[str, Any]) -> StreamState:
    """The state without the texts of the payloads that an event names: the same whether they are still there or gone."""
    seqs = frozenset(body["seqs"])
    # Answers are adopted across branches, so what goes with a call may stand on any.
    branches = {name: _blank_branch(branch, seqs) for name, branch in state.branches.items()}
    intents = dict(state.intents)
    for intent_id in body["intents"]:
        intent = intents[intent_id]
        remains = body["remains"][str(intent.held_seq)]
        intents[intent_id] = _blank_intent(intent, remains.get("tool"))
    for intent in [i for i in intents.values() if i.adopted_from in body["intents"]]:
        # What it was answered stood in the payloads of its source.
        intents[intent.intent_id] = replace(intent, result_content=None)
    return replace(
        state,
        branches=MappingProxyType(branches),
        intents=MappingProxyType(intents),
        redacted=state.redacted | seqs,
    )


def _blank_branch(branch: Branch, seqs: frozenset[int]) -> Branch:
    return replace(
        branch, accepted=_blank_tokens(branch.accepted, seqs), pending=_blank_tokens(branch.pending, seqs)
    )


def _blank_tokens(tokens: Tokens, seqs: frozenset[int]) -> Tokens:
    return Tokens([each.blank() if each.seq in seqs else each for each in tokens.stretches])


def _blank_intent(intent: Intent, tool: str | None) -> Intent:
    approval, asked = intent.approval, intent.asked
    return replace(
        intent,
        tool=tool,
        reason=None if intent.state is IntentState.DENIED else intent.reason,
        detail=None,
        approval=None if approval is None else replace(approval, arguments_digest=None, note=None),
        arguments_raw=None,
        arguments_digest=None,
        footprint=_nameless(intent.footprint),
        asked=asked
        if asked is None or asked.footprint is None
        else replace(asked, footprint=_nameless(asked.footprint)),
        call_id=None,
        idempotency_key=None,
        result_content=None,
        traceparent=None,
        redacted=True,
    )


def _nameless(footprint: Footprint) -> Footprint:
    return Footprint(None, None, footprint.upstream)
