"""States as callers see them (interface.md: the answers of ``/streams`` and ``/intents``)."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta

from effects.errors import SpeculativeEffectViolation
from effects.intent import IntentState
from effects.strict_json import JSONRefused, parse
from gateway.turn.advance import decide_now
from gateway.turn.standing import Standing
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.errors import UnreadableStream
from ledger.events import Event
from ledger.state import Branch, Intent, StreamState

View = dict[str, object]
UNREADABLE = (UnreadableStream, KeyError, ValueError, TypeError, IndexError)
"""What reading a stream raises whose events do not fit together."""

PROMPT = timedelta(seconds=1)
"""Within it a call that nothing holds back is claimed."""

Reasons = Callable[[Intent], str | None]


def stream_view(state: StreamState, reasons: Reasons, *, with_ids: bool = False) -> View:
    """The whole stream: branches with their accepted text, every intent, how it ended."""
    branches = {}
    for name, branch in state.branches.items():
        view = branch_view(branch) | {"text": branch.text}
        if state.redacted:
            view["redacted"] = _redacted_spans(state, branch)
        if with_ids:
            view["ids"] = list(branch.accepted.ids)
        branches[name] = view
    return {
        "commit_key": state.commit_key,
        "writer_epoch": state.writer_epoch,
        "seq": state.seq,
        "branches": branches,
        "intents": [intent_view(state, intent, reasons) for intent in in_order(state.intents.values())],
        "finished": state.finished,
        "parent": state.parent,
        "fork_of": state.fork_of,
        "labels": dict(state.labels),
    }


def branch_view(branch: Branch) -> View:
    """Where a branch stands."""
    return {"head": branch.head, "drafted_end": branch.drafted_end, "round": branch.round}


def branches_view(state: StreamState) -> View:
    """Where all branches stand."""
    return {name: branch_view(branch) for name, branch in state.branches.items()}


def intent_view(state: StreamState, intent: Intent, reasons: Reasons, *, provisional: bool = False) -> View:
    """One intent; ``result`` is there only when the answer is final, or if a ``provisional`` one is asked for."""
    view: View = {
        "commit_key": state.commit_key,
        "intent_id": intent.intent_id,
        "branch": intent.branch,
        "round": intent.round,
        "span": [intent.start, intent.end],
        "ordinal": intent.ordinal,
        "block": intent.block.value,
        "tool": intent.tool,
        "arguments": _arguments(intent.arguments_raw),
        "arguments_digest": intent.arguments_digest,
        "call_id": intent.call_id,
        "effect": intent.effect.value,
        "effect_version": intent.effect_version,
        "footprint": intent.footprint.to_json(),
        "state": intent.state.value,
        "reason": intent.reason or reasons(intent),
        "release": None if intent.release is None else intent.release.value,
        "final": intent.final,
        "stale": intent.stale,
        "attempts": intent.attempts,
        "idempotency_key": intent.idempotency_key,
        "adopted_from": intent.adopted_from,
        "redacted": intent.redacted,
        "asked": _asked(intent),
        "approval": _approval(intent),
    }
    if intent.detail is not None:
        view["detail"] = dict(intent.detail)
    if intent.result_status is not None and (intent.final or provisional):
        view["result"] = {"status": intent.result_status.value, "content": intent.result_content}
    return view


def row_view(row: Mapping[str, object]) -> View:
    """One intent as its projection has it, where its stream cannot be read: it must not be passed over."""
    named = (
        "commit_key",
        "intent_id",
        "branch",
        "round",
        "ordinal",
        "block",
        "tool",
        "arguments_digest",
        "call_id",
    )
    stands = (
        "effect",
        "effect_version",
        "state",
        "release",
        "final",
        "stale",
        "attempts",
        "idempotency_key",
        "adopted_from",
    )
    raw = row["arguments_raw"]
    return {
        **{name: row[name] for name in (*named, *stands)},
        "span": [row["span_start"], row["span_end"]],
        "arguments": _arguments(None if raw is None else str(raw)),
        "footprint": {"reads": None, "writes": None},
        "reason": "stream_unreadable",
        "redacted": False,
        "asked": None,
        "approval": None,
    }


def event_view(event: Event) -> dict[str, object]:
    """One event as callers see it: the members of its payload beside what all events have.

    Of a redacted one: those that remain, and ``redacted``. Of one that is not to be understood: none, and ``unreadable``.
    """
    view: dict[str, object] = {
        **event.payload,
        "seq": event.seq,
        "type": event.type.value,
        "branch": event.branch,
        "at": event.at.isoformat(),
    }
    if event.intent_id is not None:
        view["intent_id"] = event.intent_id
    if event.attempt is not None:
        view["attempt"] = event.attempt
    if event.redacted:
        view["redacted"] = True
    if event.unreadable:
        view["unreadable"] = True
    return view


def _redacted_spans(state: StreamState, branch: Branch) -> list[list[int]]:
    """The spans [start, end) of accepted tokens whose texts are gone, in order."""
    spans: list[list[int]] = []
    for place, token in enumerate(branch.accepted):
        if token.seq not in state.redacted:
            continue
        if spans and spans[-1][1] == place:
            spans[-1][1] = place + 1
        else:
            spans.append([place, place + 1])
    return spans


def in_order(intents: Iterable[Intent]) -> list[Intent]:
    """Intents by branch, place and round."""
    return sorted(intents, key=lambda i: (i.branch, i.place, i.round))


def reasons_under(unfolding: Unfolding, force: TableInForce) -> Reasons:
    """Says why a call is held or waits, as the gate would say it now."""

    standing = Standing(unfolding, force)

    def reason(intent: Intent) -> str | None:
        if intent.state is IntentState.RELEASED:
            return _held_back(intent, force, unfolding.now)
        waits = intent.state in (IntentState.HELD, IntentState.DISPATCHED, IntentState.IN_DOUBT) or (
            intent.state is IntentState.SETTLED and not intent.final
        )
        try:
            return decide_now(unfolding, force, standing, intent.intent_id).reason if waits else None
        except SpeculativeEffectViolation as violation:
            # A record that contradicts the rule must stay readable: somebody has to look into it.
            return violation.code

    return reason


def _asked(intent: Intent) -> View | None:
    asked = intent.asked
    if asked is None:
        return None
    return {
        "because": intent.asked_because,
        "effect": asked.effect.value,
        "effect_version": asked.effect_version,
        "footprint": None if asked.footprint is None else asked.footprint.to_json(),
        "upstream": None if asked.upstream is None else dict(asked.upstream),
        "definition": asked.definition,
    }


def _approval(intent: Intent) -> View | None:
    approval = intent.approval
    if approval is None:
        return None
    return {"by": approval.by, "note": approval.note, "expires_at": approval.expires_at.isoformat()}


def _held_back(intent: Intent, force: TableInForce, now: datetime) -> str | None:
    """Why a call that may go is not sent yet: ``paused`` by an operator, or ``limited``, so that it waits for room.

    Room is kept by the dispatchers; a call of a limited tool that is not claimed after ``PROMPT`` waits for it.
    """
    if force.brakes.pauses(intent.tool):
        return "paused"
    waits = intent.released_at is not None and now - intent.released_at > PROMPT
    return "limited" if waits and force.limits_of(intent.tool) else None


def _arguments(raw: str | None) -> object:
    if raw is None:
        return None
    try:
        return parse(raw)
    except JSONRefused:
        return None
