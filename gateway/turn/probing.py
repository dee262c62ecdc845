"""Probes: finding out whether a call in doubt happened, by a read that the effect table names for it. Pure.

What a probe finds settles the doubt only where it is known for certain (design.md, "Dispatch: what is promised"). That it
happened may be said at once; that it did not only once nothing of it can be on its way any more.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from effects.classes import EffectClass
from effects.intent import IntentState, ResultStatus
from effects.rules import Verdict
from effects.table import Classification
from effects.tool import Probe
from gateway.turn.dispatching import Assignment, resolve
from gateway.turn.tables import TableInForce, arguments, other_definition
from gateway.turn.unfolding import Unfolding
from ledger.events import EventType
from ledger.state import Intent

BY = "probe"
"""Who resolves a doubt that a probe settles."""

MAX_PROBES = 10
"""Probes of one doubt; then a person decides."""

TIMEOUT = "timeout"
"""Reason of a doubt whose call is awaited still by who sent it."""

MAY_STILL_ARRIVE = "may_still_arrive"
"""Why a probe that finds no effect says nothing yet."""


class Found(StrEnum):
    """What a probe says about the call."""

    HAPPENED = "happened"
    NOT_HAPPENED = "not_happened"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ProbeCall:
    """A probe to be sent. ``trusted``: that nothing happened may be believed. ``number``: probes before it."""

    assignment: Assignment
    probe: Probe
    trusted: bool
    number: int


@dataclass(frozen=True, slots=True)
class Probed:
    """What came of a probe: ``content`` is a JSON value, ``because`` a stable code."""

    found: Found
    content: object
    because: str


def due(unfolding: Unfolding, force: TableInForce, intent: Intent, *, late_wait: float) -> ProbeCall | float:
    """The probe to send for a call in doubt, or the seconds after which to ask again (inf: never).

    ``late_wait``: seconds for which its sender awaits an answer beyond the tool's timeout.
    """
    judged = force.classify(intent.tool, intent.arguments_raw)
    if intent.state is not IntentState.IN_DOUBT or intent.doubted_at is None:
        return float("inf")
    if other_definition(intent.sent_definition, judged.definition):
        # Whoever would be asked now is not whom it was sent to.
        return float("inf")
    if judged.probe is None or intent.redacted or intent.probes >= MAX_PROBES:
        return float("inf")
    # Counted from the doubt, which is recorded after the last transmission began.
    certain_at = intent.doubted_at + timedelta(seconds=judged.timeout + late_wait)
    trusted = unfolding.now >= certain_at
    if intent.reason == TIMEOUT and not trusted:
        return (certain_at - unfolding.now).total_seconds()
    spelled = _spelled(judged.probe.arguments, arguments(intent.arguments_raw) or {})
    raw = None if spelled is None else json.dumps(spelled, ensure_ascii=False)
    asked = force.classify(judged.probe.tool, raw)
    if raw is None or not _may_ask(asked):
        return float("inf")
    return ProbeCall(_assignment(unfolding, force, intent, asked, raw), judged.probe, trusted, intent.probes)


def judge(
    unfolding: Unfolding, call: ProbeCall, intent: Intent, status: ResultStatus, content: object
) -> Probed:
    """What the answer of the probe says about the call."""
    if status is not ResultStatus.OK:
        return Probed(Found.UNKNOWN, content, status.value)
    said = call.probe.happened.judge(arguments(intent.arguments_raw) or {}, now=unfolding.now, result=content)
    if said is Verdict.TRUE:
        return Probed(Found.HAPPENED, content, "condition_met")
    if said is not Verdict.FALSE:
        return Probed(Found.UNKNOWN, content, f"condition_{said.value}")
    if not call.trusted:
        return Probed(Found.UNKNOWN, content, MAY_STILL_ARRIVE)
    return Probed(Found.NOT_HAPPENED, content, "condition_not_met")


def record(unfolding: Unfolding, force: TableInForce, call: ProbeCall, probed: Probed) -> bool:
    """Record what a probe found, and settle the doubt where that is known.

    False, and nothing, where the doubt is settled meanwhile or another probe was faster.
    """
    asked = call.assignment
    intent = unfolding.state.intents.get(asked.intent_id)
    if intent is None or intent.state is not IntentState.IN_DOUBT:
        return False
    if (intent.attempts, intent.probes) != (asked.attempt, call.number) or intent.redacted:
        return False
    probe = unfolding.emit_for(
        EventType.DISPATCH_PROBED,
        intent,
        attempt=asked.attempt,
        verdict=probed.found.value,
        tool=asked.tool,
        content=probed.content,
        because=probed.because,
    )
    if probed.found is not Found.UNKNOWN:
        resolve(
            unfolding,
            force,
            unfolding.intent(asked.intent_id),
            happened=probed.found is Found.HAPPENED,
            reason=f"{call.probe.happened.source} is {'true' if probed.found is Found.HAPPENED else 'false'}",
            by=BY,
            evidence={"probe_seq": probe.seq, "tool": asked.tool},
        )
    return True


def _may_ask(asked: Classification) -> bool:
    return asked.known and asked.fault is None and asked.effect is EffectClass.READ_ONLY


def _assignment(
    unfolding: Unfolding, force: TableInForce, intent: Intent, asked: Classification, raw: str
) -> Assignment:
    if asked.upstream is None:
        raise AssertionError("a tool that the table knows has an upstream")
    return Assignment(
        tenant=unfolding.state.tenant,
        commit_key=unfolding.state.commit_key,
        intent_id=intent.intent_id,
        attempt=intent.attempts,
        epoch=0,
        tool=asked.tool,
        arguments_raw=raw,
        effect=EffectClass.READ_ONLY,
        idempotency_key=None,
        upstream=asked.upstream,
        timeout=asked.timeout,
        window=None,
        server=asked.server,
        max_result=asked.max_result,
        outbound=force.table.outbound,
    )


def _spelled(template: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object] | None:
    """The probe's arguments; None where one of the call's that they name is missing or cannot stand in a text."""
    try:
        return {name: _filled(value, given) for name, value in template.items()}
    except KeyError:
        return None


def _filled(value: object, given: Mapping[str, object]) -> object:
    if isinstance(value, str):
        return _filled_text(value, given)
    if isinstance(value, list):
        return [_filled(element, given) for element in value]
    if isinstance(value, dict):
        return {name: _filled(member, given) for name, member in value.items()}
    return value


def _filled_text(text: str, given: Mapping[str, object]) -> object:
    """``{name}`` alone stands for the argument as it is, of whatever type; within a text for what it spells."""
    literal, *rest = text.split("{")
    if not literal and len(rest) == 1 and rest[0].endswith("}"):
        return given[rest[0][:-1]]
    for piece in rest:
        name, closed, after = piece.partition("}")
        literal += (_text(given[name]) if closed else "{" + name) + after
    return literal


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return json.dumps(value)
    raise KeyError("only texts, numbers and truth values stand in a text")
