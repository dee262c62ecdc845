"""The model beside the real state: everything that both say of a stream."""

import json
from collections.abc import Mapping

from effects.intent import IntentState
from ledger.state import Branch, Intent, StreamState
from tests.ledger.model.calls import Call
from tests.ledger.model.lanes import Lane
from tests.ledger.model.stream import Model, Place

View = dict[str, object]
EXPLAINED = ("voided", "refused", "denied", "in_doubt")


def place_of(intent: Intent) -> Place:
    return (intent.branch, intent.start, intent.ordinal, intent.round)


def compare(model: Model, state: StreamState) -> list[str]:
    """Every member in which they differ, in words; and calls that share an idempotency key."""
    found = _differences(_of_model(model), _of_state(state))
    keys = [i.idempotency_key for i in state.intents.values() if i.idempotency_key is not None]
    return found if len(keys) == len(set(keys)) else [*found, "two calls share an idempotency key"]


def _differences(mine: Mapping[str, View], theirs: Mapping[str, View]) -> list[str]:
    if mine == theirs:
        return []
    told = []
    for what in sorted({*mine, *theirs}):
        one, other = mine.get(what), theirs.get(what)
        if one is None or other is None:
            told.append(
                f"  {what}: only {'the ledger' if one is None else 'the model'} has it: {one or other}"
            )
            continue
        for name in sorted({*one, *other}):
            if one.get(name) != other.get(name):
                told.append(f"  {what} {name}: model {one.get(name)!r}, ledger {other.get(name)!r}")
    return told


def _of_model(model: Model) -> dict[str, View]:
    views: dict[str, View] = {"stream": {"epoch": model.epoch, "finished": model.finished}}
    views["stream"]["last_word"] = model.last_word
    views |= {f"lane {name}": _lane(lane) for name, lane in model.lanes.items()}
    views |= {f"call {place}": _call(call) for place, call in model.calls.items()}
    facts = [(c.sent_fact, place, "sent") for place, c in model.calls.items()]
    facts += [(c.settled_fact, place, "settled") for place, c in model.calls.items()]
    views["facts"] = {"order": [f[1:] for f in sorted(f for f in facts if f[0] is not None)]}  # type: ignore[type-var]
    return views


def _of_state(state: StreamState) -> dict[str, View]:
    views: dict[str, View] = {"stream": {"epoch": state.writer_epoch, "finished": state.finished}}
    views["stream"]["last_word"] = state.last_writer_at
    views |= {f"lane {name}": _branch(branch) for name, branch in state.branches.items()}
    views |= {f"call {place_of(intent)}": _intent(intent, state) for intent in state.intents.values()}
    facts = [(i.dispatch_seq, place_of(i), "sent") for i in state.intents.values()]
    facts += [(i.settled_seq, place_of(i), "settled") for i in state.intents.values()]
    views["facts"] = {"order": [f[1:] for f in sorted(f for f in facts if f[0] is not None)]}  # type: ignore[type-var]
    return views


def _lane(lane: Lane) -> View:
    return {
        "head": lane.head,
        "drafted_end": lane.drafted_end,
        "round": lane.round,
        "text": lane.accepted_text(),
        "tokens": [tuple(token) for token in lane.tokens],
    }


def _branch(branch: Branch) -> View:
    return {
        "head": branch.head,
        "drafted_end": branch.drafted_end,
        "round": branch.round,
        "text": branch.text,
        "tokens": [
            (token.text, token.id, token.round) for token in map(branch.token, range(branch.drafted_end))
        ],
    }


def _call(call: Call) -> View:
    return {
        "span": (call.start, call.end, call.byte_start, call.byte_end),
        "tool": call.tool_name,
        "arguments": call.arguments,
        "effect": call.tool.effect,
        "call_id": call.call_id,
        "block": call.block,
        "state": call.state,
        "why": call.why_over if call.state in EXPLAINED else None,
        "release": call.release,
        "final": call.final,
        "stale": call.stale,
        "attempts": call.attempts,
        "awaited": call.awaited,
        "keyed": call.keyed,
        "first_sent_at": call.first_sent_at,
        "sent_at": call.sent_at,
        "early_answer": call.early_answer,
        "result": (call.status, call.content),
        "not_before": call.not_before,
        "resolved": call.resolved,
        "adopted": call.adopted,
        "asked": call.asked,
        "word": None if call.word is None else (call.word.until, call.word.spent_on),
    }


def _intent(intent: Intent, state: StreamState) -> View:
    raw = intent.arguments_raw
    source = None if intent.adopted_from is None else place_of(state.intents[intent.adopted_from])
    return {
        "span": (intent.start, intent.end, intent.byte_start, intent.byte_end),
        "tool": intent.tool,
        "arguments": None if raw is None else json.loads(raw),
        "effect": intent.effect.value,
        "call_id": intent.call_id,
        "block": intent.block.value,
        "state": intent.state.value,
        "why": _why(intent),
        "release": None if intent.release is None else intent.release.value,
        "final": intent.final,
        "stale": intent.stale,
        "attempts": intent.attempts,
        "awaited": intent.open_attempt,
        "keyed": intent.idempotency_key is not None,
        "first_sent_at": intent.first_dispatched_at,
        "sent_at": intent.dispatched_at,
        "early_answer": intent.answered_early,
        "result": (
            None if intent.result_status is None else intent.result_status.value,
            intent.result_content,
        ),
        "not_before": intent.retry_at,
        "resolved": intent.resolved,
        "adopted": None if source is None else (source, intent.adopted_attempt),
        "asked": intent.asked_because,
        "word": None if intent.approval is None else (intent.approval.expires_at, intent.approval.spent_on),
    }


def _why(intent: Intent) -> str | None:
    if intent.state.value not in EXPLAINED:
        return None
    parsed = intent.tool is not None and intent.problem is None
    return "unparsable" if intent.state is IntentState.REFUSED and not parsed else intent.reason
