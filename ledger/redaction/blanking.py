"""Blanking: what a ``payload.redacted`` makes of a state. Pure; part of the fold."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from effects.footprint import Footprint
from ledger.events import Event
from ledger.state import Branch, Intent, StreamState, Token


def blanked(state: StreamState, event: Event, body: Mapping[str, Any]) -> StreamState:
    """The state without the texts of the payloads that ``event`` names: the same whether they are still there or gone."""
    seqs = frozenset(body["seqs"])
    branches, intents = dict(state.branches), dict(state.intents)
    branch = branches.get(str(event.branch))
    if branch is not None:
        branches[branch.name] = _blank_branch(branch, seqs)
    for intent_id in body["intents"]:
        intent = intents[intent_id]
        remains = body["remains"][str(intent.held_seq)]
        intents[intent_id] = _blank_intent(intent, remains.get("tool"))
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


def _blank_tokens(tokens: tuple[Token, ...], seqs: frozenset[int]) -> tuple[Token, ...]:
    return tuple([Token("", None, t.round, t.seq) if t.seq in seqs else t for t in tokens])


def _blank_intent(intent: Intent, tool: str | None) -> Intent:
    return replace(
        intent,
        tool=tool,
        arguments_raw=None,
        arguments_digest=None,
        footprint=Footprint(None, None, intent.footprint.upstream),
        call_id=None,
        idempotency_key=None,
        result_content=None,
        redacted=True,
    )
