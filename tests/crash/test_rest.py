"""What is judged is at rest: a doubt that a late answer settles sets free what waited behind it."""

from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

from ledger.events import Event
from tests.crash.rest import at_rest
from tests.crash.runtime import Turn
from tests.crash.test_judge import CALLS, KEY, Story


class Moving:
    """A stage whose events come to be while it is looked at."""

    def __init__(self, *moments: list[Event]) -> None:
        self._moments: Iterator[list[Event]] = chain(moments, repeat(moments[-1]))

    def quiet_tool(self) -> None:
        pass

    def events(self, _commit_key: str) -> list[Event]:
        return next(self._moments)

    def log(self) -> list[dict[str, Any]]:
        return []


def told(story: Story) -> list[Event]:
    return [Event(seq, story.desk.now, *new) for seq, new in enumerate(story.desk.log, 1)]


def test_a_doubt_that_a_late_answer_settles_was_no_rest() -> None:
    story = Story()
    story.accept()
    lost = story.send("write")
    story.desk.lose(lost)
    doubt = told(story)
    story.answer(lost)
    freed = told(story)
    for tool in ("put", "read"):
        story.answer(story.send(tool))
    over = told(story)
    turn = Turn(KEY, CALLS)
    assert at_rest(Moving(doubt, doubt), [turn], 5).told[KEY] == doubt
    assert at_rest(Moving(doubt, freed, freed, freed, over), [turn], 5).told[KEY] == over
    assert at_rest(Moving(freed, freed), [turn], 0).told[KEY] == freed
