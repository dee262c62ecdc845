"""Every write against the shop's own log: sent exactly once, done exactly once, with the arguments that were accepted.

Nothing of the ledger's reconciliation is used here: this is a second opinion.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gateway.demo.api import Json

Place = tuple[str | None, str | None]


@dataclass(frozen=True, slots=True)
class LogCheck:
    """``writes``: calls that are no reads and were sent. ``exactly_once``: those of them that the log has once.

    ``refused``: those of them that the shop refused. ``mismatches``: sentences, one for each contradiction.
    """

    writes: int
    exactly_once: int
    refused: int
    mismatches: tuple[str, ...]


@dataclass(slots=True)
class _Asked:
    """What the log has of one intent."""

    arguments: list[str] = field(default_factory=list)
    effects: int = 0


def check_log(path: Path, intents: Iterable[Json]) -> LogCheck:
    """Hold the shop's log against all intents of the demonstration, as the gateway shows them at the end."""
    asked = _asked(path)
    writes = exactly_once = refused = 0
    mismatches: list[str] = []
    for intent in intents:
        found = asked.pop((intent["commit_key"], intent["intent_id"]), _Asked())
        wrong = list(_contradictions(intent, found))
        mismatches += [f"{_name(intent)}: {why}" for why in wrong]
        if intent["effect"] != "READ_ONLY" and intent["attempts"]:
            writes += 1
            exactly_once += not wrong
            refused += _status(intent) == "tool_error"
    mismatches += [f"the shop was asked {place}, and no such call is known" for place in asked]
    return LogCheck(writes, exactly_once, refused, tuple(mismatches))


def _contradictions(intent: Json, found: _Asked) -> Iterator[str]:
    if intent["effect"] == "READ_ONLY":
        if found.effects:
            yield "a read changed something"
        return
    sent = int(intent["attempts"])
    if intent["block"] != "cleared" and found.arguments:
        yield "the shop was asked, and its block is not cleared"
    times = len(found.arguments)
    if (intent["effect"] == "WRITE" and times > 1) or (sent and not times) or times > sent:
        yield f"sent {sent} times, and the shop was asked {times} times"
    expected = 1 if _status(intent) == "ok" else 0
    if found.effects != expected:
        yield f"its answer is {_status(intent)}, and the shop did it {found.effects} times"
    if any(json.loads(arguments) != intent["arguments"] for arguments in found.arguments):
        yield "the shop was asked with other arguments"


def _asked(path: Path) -> dict[Place, _Asked]:
    asked: dict[Place, _Asked] = defaultdict(_Asked)
    places: dict[int, Place] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        said = json.loads(line)
        if said["line"] == "received":
            places[said["n"]] = place = (said["commit_key"], said["intent_id"])
            asked[place].arguments.append(said["arguments"])
        else:
            asked[places[said["n"]]].effects += bool(said["effect"])
    return asked


def _status(intent: Json) -> str | None:
    result = intent.get("result")
    return None if result is None else str(result["status"])


def _name(intent: Json) -> str:
    return f"{intent['tool']} {intent['intent_id']} of {intent['commit_key']}"
