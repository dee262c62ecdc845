"""The checks of the replays find what they are there to find."""

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.tau2 import retail
from tests.tau2.evidence import Runs, Stream
from tests.tau2.log import Entry
from tests.tau2.retail import Call, Task
from tests.tau2.script import Message
from tests.tau2.truth import problems

READ = Call("get_order_details", {"order_id": "#W1"})
CANCEL = Call("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"})
MOVE = Call("modify_user_address", {"user_id": "u1", "city": "Austin"})
TASK = Task("7", [READ, CANCEL, READ, MOVE])

pytestmark = pytest.mark.skipif(not retail.present(), reason=retail.ABSENT)


class Tale:
    """A replay in which all went well, told by hand, for a test to spoil."""

    def __init__(self) -> None:
        versions = [0, 1, 1, 1]
        self.intents = [_intent(n, call, versions[n]) for n, call in enumerate(TASK.calls)]
        self.effects = [_entry(n, call) for n, call in enumerate(TASK.calls) if call.writes]

    def problems(self) -> list[str]:
        message = Message("run-0", None, TASK.calls, ())
        view: Mapping[str, Any] = {"intents": self.intents}
        return problems([TASK], {"7": [(message, view)]}, self.effects, lambda _: "run")


def _intent(n: int, call: Call, version: int) -> dict[str, Any]:
    return {
        "intent_id": f"i{n}",
        "span": [10 * n, 10 * n + 5],
        "ordinal": 0,
        "block": "cleared",
        "tool": call.tool,
        "arguments": dict(call.arguments),
        "state": "settled",
        "reason": None,
        "final": True,
        "result": {"status": "ok", "content": {"version": version}},
    }


def _entry(n: int, call: Call) -> Entry:
    return Entry(n, call.tool, "run-0", f"i{n}", json.dumps(call.arguments), True)


def _answer(tale: Tale, version: int) -> None:
    tale.intents[2]["result"]["content"]["version"] = version


def _twice(tale: Tale) -> None:
    tale.effects.append(copy.copy(tale.effects[0]))


def _never(tale: Tale) -> None:
    tale.effects.pop()


def _turned_round(tale: Tale) -> None:
    tale.effects.reverse()


def _other_arguments(tale: Tale) -> None:
    tale.effects[0].arguments = json.dumps({"order_id": "#W2", "reason": "no longer needed"})


def _unasked(tale: Tale) -> None:
    tale.effects.append(Entry(9, MOVE.tool, "other-0", "i9", "{}", True))


def _lost(tale: Tale) -> None:
    del tale.intents[3]


def _not_final(tale: Tale) -> None:
    tale.intents[3] |= {"final": False, "state": "in_doubt"}


def _denied_though_done(tale: Tale) -> None:
    tale.intents[3]["result"]["status"] = "not_happened"


SPOILED: dict[str, Callable[[Tale], None]] = {
    "stale read": lambda tale: _answer(tale, 0),
    "read from the future": lambda tale: _answer(tale, 2),
    "done twice": _twice,
    "never done": _never,
    "turned round": _turned_round,
    "other arguments": _other_arguments,
    "unasked": _unasked,
    "lost": _lost,
    "not final": _not_final,
    "resolved as not happened, though it had": _denied_though_done,
}


def test_a_replay_in_which_all_went_well_has_no_problems() -> None:
    assert Tale().problems() == []


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED.keys())
def test_every_fault_is_found(spoil: Callable[[Tale], None]) -> None:
    tale = Tale()
    spoil(tale)
    assert tale.problems()


def test_what_was_resolved_as_not_happened_is_missed_by_nobody() -> None:
    tale = Tale()
    tale.intents[3]["result"] = {"status": "not_happened", "content": None}
    tale.effects.pop()
    assert tale.problems() == []


Told = tuple[str, str, dict[str, Any]]
"""An event's type, its intent, its payload."""


def _told(*events: Told) -> Runs:
    stream = Stream(Runs())
    for seq, (type_, intent_id, body) in enumerate(events, 1):
        stream.take(seq, type_, intent_id, body)
    return stream.runs


def _held(call: Call, start: int) -> dict[str, Any]:
    return {"tool": call.tool, "arguments_raw": json.dumps(call.arguments), "span": [start, start + 5]}


def test_reads_are_counted_by_how_they_ran() -> None:
    early, committed = {"release": "early"}, {"release": "committed"}
    begun: tuple[Told, ...] = (
        ("intent.held", "w", _held(CANCEL, 0)),
        ("intent.held", "r", _held(READ, 10)),
    )
    ran_ahead: tuple[Told, ...] = (
        *begun,
        ("dispatch.started", "r", early),
        ("dispatch.settled", "r", {}),
        ("dispatch.started", "w", committed),
        ("dispatch.settled", "w", {}),
        ("intent.final", "w", {}),
        ("intent.stale", "r", {"because_seq": 6}),
    )
    assert _told(*ran_ahead, ("dispatch.started", "r", committed)) == Runs(overtaken=1, ahead=1, early=1)
    assert _told(*ran_ahead) == Runs(ahead=1, early=1)
    aged: tuple[Told, ...] = (
        ("intent.held", "r", _held(READ, 0)),
        ("dispatch.started", "r", early),
        ("dispatch.settled", "r", {}),
        ("intent.stale", "r", {"because_seq": 3}),
        ("dispatch.started", "r", committed),
    )
    assert _told(*aged) == Runs(outdated=1, early=1)
    waited: tuple[Told, ...] = (*begun, ("intent.final", "w", {}), ("dispatch.started", "r", committed))
    assert _told(*waited) == Runs()
