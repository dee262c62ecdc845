"""What must be true of a replay, held against the gold calls and the server's own log. Pure; each gives what is wrong."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tests.tau2.log import Entry
from tests.tau2.retail import ANY, Call, Task
from tests.tau2.script import Message

Told = Sequence[tuple[Message, Mapping[str, Any]]]
"""The messages of one task, each with what the gateway showed of it in the end."""

_HAPPENED = ("ok", "happened_unknown_result")


def accepted(told: Told) -> Iterator[tuple[Call, Mapping[str, Any]]]:
    """The accepted calls of a task in order, each with its intent."""
    for _, view in told:
        cleared = [intent for intent in view["intents"] if intent["block"] == "cleared"]
        for intent in sorted(cleared, key=lambda i: (i["span"][0], i["ordinal"])):
            yield Call(intent["tool"], intent["arguments"]), intent


def wrong_calls(task: Task, told: Told) -> Iterator[str]:
    """The accepted calls are those that the target said, and the WRITEs among them the gold ones; all are final."""
    said = [call.same for message, _ in told for call in message.calls]
    found = list(accepted(told))
    if [call.same for call, _ in found] != said:
        yield f"task {task.name}: the accepted calls are not those that were said"
    if [call.same for call, _ in found if call.writes] != [call.same for call in task.gold_writes]:
        yield f"task {task.name}: the accepted WRITEs are not the gold ones"
    for call, intent in found:
        if not intent["final"]:
            yield f"task {task.name}: {call.tool} is not final: {intent['state']} {intent['reason']}"


def wrong_writes(task: Task, told: Told, effects: Iterable[Entry]) -> Iterator[str]:
    """The effects of one run, in order: each WRITE that is not settled ``not_happened`` once, and nothing else."""
    expected = [
        (call.same, intent["intent_id"])
        for call, intent in accepted(told)
        if call.writes and happened(intent)
    ]
    done = [(Call(e.tool, json.loads(e.arguments)).same, e.intent_id) for e in effects]
    for what, times in Counter(done).items():
        if times > 1:
            yield f"task {task.name}: {what} was done {times} times"
    if done != expected:
        yield f"task {task.name}: done was {done}, and accepted {expected}"


def wrong_reads(task: Task, told: Told) -> Iterator[str]:
    """Every READ is answered by the version that its earlier WRITEs of the key had made: no older, and no newer."""
    versions: Counter[str | None] = Counter()
    for call, intent in accepted(told):
        if call.writes:
            versions[call.key] += happened(intent)
            continue
        if call.key is None:
            continue
        result = intent.get("result") or {}
        content = result.get("content")
        answered = content.get("version") if isinstance(content, dict) else None
        expected = versions[call.key] + versions[ANY]
        if answered != expected:
            yield f"task {task.name}: {call.key} was {result} where version {expected} was due"


def happened(intent: Mapping[str, Any]) -> bool:
    """Whether the gateway says of a final WRITE that it was done."""
    return (intent.get("result") or {}).get("status") in _HAPPENED


def problems(
    tasks: Sequence[Task],
    messages: Mapping[str, Told],
    effects: Iterable[Entry],
    run_of: Callable[[Task], str],
) -> list[str]:
    """All that is wrong. ``run_of``: task -> its run's name."""
    by_run: dict[str, list[Entry]] = defaultdict(list)
    for entry in effects:
        by_run[entry.run].append(entry)
    found: list[str] = []
    for task in tasks:
        told = messages[task.name]
        found += wrong_calls(task, told)
        found += wrong_writes(task, told, by_run.pop(run_of(task), ()))
        found += wrong_reads(task, told)
    found += [f"unknown run {run}: {len(entries)} effects" for run, entries in by_run.items()]
    return found
