"""A change that was folded where it was decided comes to the state that its stored events come to."""

from datetime import UTC, datetime

import pytest

from ledger.change import Change, Folded
from ledger.draft import draft
from ledger.events import Event, NewEvent
from ledger.fold import fold_all, initial
from ledger.payload import fresh_salt, parsed
from ledger.sharding import StreamName
from ledger.state import StreamState
from tests.ledger.story import INTENT, KEY, accepted, held, opened, settled, started

THEN, NOW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
NAME = StreamName.of("t", KEY)
STORY = (opened(), accepted(0, 6), held(), started(), settled())


def change(before: StreamState, *new: NewEvent) -> Change:
    said = [Event(seq, THEN, *one[:5]) for seq, one in enumerate(new, before.seq + 1)]
    return Change(new, (), Folded(before, fold_all(before, said), THEN))


def drafted(before: StreamState, told: Change) -> StreamState:
    """The state of the draft, which has to be that of its events as they will be read."""
    made = draft(NAME, before, told, at=NOW, salt=fresh_salt)
    stored = [record.event._replace(payload=parsed(record.text)) for record in made.records]
    assert made.after == fold_all(before, stored)
    return made.after


def test_it_is_not_folded_again_and_says_when_it_was_decided() -> None:
    before = initial("t", KEY)
    told = change(before, *STORY)
    after = drafted(before, told)
    assert told.folded is not None
    assert after is told.folded.after
    assert after.intents[INTENT].dispatched_at == THEN


@pytest.mark.parametrize(("content", "read"), [({"n": 1.0}, "{'n': 1}"), ({"n": (1, 2)}, "{'n': [1, 2]}")])
def test_what_reads_back_as_something_else_is_folded_as_it_is_read(content: object, read: str) -> None:
    before = initial("t", KEY)
    odd = settled()._replace(payload={**settled().payload, "content": content})
    told = change(before, *STORY[:-1], odd)
    after = drafted(before, told)
    assert told.folded is not None
    assert after is not told.folded.after
    assert repr(after.intents[INTENT].result_content) == read


def test_what_was_folded_on_another_state_does_not_count() -> None:
    before = initial("t", KEY)
    told = change(initial("t", KEY), *STORY)
    after = drafted(before, told)
    assert told.folded is not None
    assert after is not told.folded.after
    assert after.intents[INTENT].dispatched_at == NOW


def test_a_fold_that_is_wrong_is_seen_here() -> None:
    """The comparison of these tests, shown to find what it is for."""
    before = initial("t", KEY)
    told = change(before, *STORY)
    wrong = told._replace(folded=Folded(before, initial("t", "other"), THEN))
    with pytest.raises(AssertionError):
        drafted(before, wrong)
