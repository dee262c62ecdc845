"""What a writer of the histories says: token events as interface.md spells them, drawn from one number."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from tests.ledger.model import spelling
from tests.ledger.model.lanes import Lane
from tests.ledger.model.stream import Said
from tests.ledger.model.tools import spell

T = TypeVar("T")

CALLS = tuple(
    spell(tool, name)
    for tool, name in (
        ("create", "x"), ("read", "x"), ("put", "x"), ("peek", "x"), ("look", "x"), ("poke", "é"), ("bare", "y"),
        ("read", "y"), ("search", "q"), ("create", "y"), ("nobody", "x"),
        ("grant", "x"), ("spend", "x"), ("spend", "y"), ("consult", "x"),
    )
)  # fmt: skip
PAIRS = (
    CALLS[0] + CALLS[1],
    CALLS[2] + CALLS[1] + CALLS[0],
    CALLS[1] + "\n" + CALLS[3] + CALLS[5],
    CALLS[1] + CALLS[2],
    spell("grant", "x") + spell("read", "x"),
)
BROKEN = (
    '<tool_call>{"name": "create", "arguments": ',
    '<tool_call>{"name": "a\n',
    "<tool_call>{}</tool_call>",
    "</tool_call><tool_",
)
PROSE = ("so ", "né ", "")


class Dice:
    """Choices that follow from one number."""

    def __init__(self, number: int) -> None:
        self._random = Random(number)

    def pick(self, among: Sequence[T]) -> T:
        return among[int(self._random.random() * len(among))]

    def below(self, limit: int) -> int:
        """From 0 to ``limit``, both included; the ends are as likely as all between."""
        return self.pick((0, limit, int(self._random.random() * (limit + 1))))

    def one_in(self, many: int) -> bool:
        return self._random.random() * many < 1


def text(dice: Dice, lane: Lane) -> str:
    """What the writer goes on to say: the rest of the call that is being spelled, or something new; now and then half."""
    open_since = spelling.open_tail(lane.texts())
    if open_since is not None and not dice.one_in(8):
        begun = spelling.OPEN + open_since
        said = next((call[len(begun) :] for call in CALLS if call.startswith(begun)), '"}}</tool_call>')
    else:
        said = dice.pick(dice.pick((CALLS, CALLS, CALLS, PAIRS, BROKEN, PROSE)))
    return said[: max(1, len(said) // 2)] if dice.one_in(4) else said


def tokens(dice: Dice, said: str, start: int) -> list[Said]:
    """``said`` cut into tokens; every third comes without an id, one in five names its drafter."""
    size = dice.pick((7, 19, 40, 200))
    cut = [said[i : i + size] for i in range(0, len(said), size)] or [""]
    told: list[Said] = []
    for position, piece in enumerate(cut, start):
        token: Said = {"text": piece}
        if position % 3:
            token["id"] = 1000 + position
        if position % 5 == 0:
            token["drafter"] = "small"
        told.append(token)
    return told


def drafted(dice: Dice, name: str, lane: Lane) -> Said:
    said = tokens(dice, text(dice, lane), lane.drafted_end)
    return {
        "type": "tokens.drafted",
        "branch": name,
        "round": lane.round,
        "start": lane.drafted_end,
        "tokens": said,
    }


def accepted(dice: Dice, name: str, lane: Lane) -> Said:
    said = tokens(dice, text(dice, lane), lane.drafted_end)
    return {"type": "tokens.accepted", "branch": name, "round": lane.round, "tokens": said}


def ruling(name: str, lane: Lane, window: int, count: int, own: Said | None = None) -> Said:
    """``window`` drafts ruled on, ``count`` of them accepted."""
    body: Said = {"type": "tokens.ruled", "branch": name, "round": lane.round, "start": lane.head}
    body |= {"end": lane.head + window, "accepted": count}
    return body if own is None else body | {"token": own}


def ruled(dice: Dice, name: str, lane: Lane) -> Said:
    pending = len(lane.pending)
    window = dice.pick((pending, dice.below(pending)))
    count = dice.pick((window, dice.below(window)))
    own = None if window and dice.one_in(3) else _own(dice, lane, lane.head + count)
    return ruling(name, lane, window, count, own)


def _own(dice: Dice, lane: Lane, place: int) -> Said:
    """The target's own token: as drafted there, as drafted by its id or its text alone, another one, or a whole call."""
    there = lane.tokens[place] if place < lane.drafted_end else None
    how = dice.pick(("drafted", "drafted", "its id", "its text", "another", "a call"))
    if how == "a call":
        return {"text": dice.pick(CALLS)}
    if there is None or how == "another":
        return {"text": dice.pick(("?", '"', "né")), "id": 999}
    if there.id is None or how == "its text":
        return {"text": there.text}
    return {"text": "#" if how == "its id" else there.text, "id": there.id}


def posted(dice: Dice, name: str, lane: Lane, block: spelling.Spelled) -> Said:
    """A call as a runtime posts it."""
    tool, arguments = block.call()
    said: Said = {"branch": name, "round": lane.tokens[block.end - 1].round, "span": [block.start, block.end]}
    said |= {"ordinal": block.ordinal, "tool": tool, "arguments": arguments}
    return said | {"call_id": dice.pick((None, "c1", "c2"))}


def lie(dice: Dice, lane: Lane, said: Said) -> Said:
    """What a runtime gets wrong about it, half of the times nothing."""
    start, end = said["span"]  # type: ignore[misc]
    round_, ordinal = int(str(said["round"])), int(str(said["ordinal"]))
    lies: tuple[Said, ...] = (
        {"tool": "other"},
        {"arguments": {"name": "other"}},
        {"round": round_ + 1},
        {"round": None},
        {"span": [start, end + 1]},
        {"span": [start, lane.drafted_end + 2]},
        {"span": [max(0, start - 1), end]},
        {"ordinal": ordinal + 1},
    )
    return {} if dice.one_in(2) else dice.pick(lies)


def what_it_ruled(lane: Lane, body: Said) -> str:
    """What kind of ruling it is, for the coverage of the generator."""
    own = body.get("token")
    window, count = int(str(body["end"])) - lane.head, int(str(body["accepted"]))
    if count < window:
        return "a cut" if own is None else "a cut with an own token"
    if own is None:
        return "all accepted"
    if window == len(lane.pending):
        return "a window of 0, nothing drafted" if window == 0 else "an own token behind all drafts"
    there, said = lane.pending[window], own
    assert isinstance(said, dict)
    both = there.id is not None and "id" in said
    equal = said["id"] == there.id if both else said["text"] == there.text
    where = "a window of 0, own token" if window == 0 else "an own token"
    return f"{where} equal to the draft" if equal else f"{where} different from the draft"
