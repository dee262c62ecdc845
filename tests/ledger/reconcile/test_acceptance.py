"""Acceptance is worked out twice in the product: by the fold, and anew for reconciliation. They agree on every history."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.events import Event, EventType
from ledger.fold import fold, fold_all, initial
from ledger.reconcile.acceptance import UnreadableTokens, accepted_branches

AT = datetime(2026, 1, 1, tzinfo=UTC)
OPENING = {
    "writer_epoch": 1,
    "format": "hermes",
    "from": "detected",
    "binding": {"kind": "single"},
    "branches_mode": "agree",
    "branches": ["main"],
}
TOKENS = st.builds(
    lambda text, id_: {"text": text} | ({} if id_ is None else {"id": id_}),
    st.sampled_from(["a", "b", "é"]),
    st.sampled_from([None, 1, 2]),
)


def event(seq: int, type_: EventType, **body: object) -> Event:
    return Event(seq, AT, type_, body, branch="main" if type_ is not EventType.STREAM_OPENED else None)


@given(st.data())
def test_the_fold_and_the_replay_agree(data: st.DataObject):
    events = [event(1, EventType.STREAM_OPENED, **OPENING)]
    state = fold(initial("t", "k"), events[0])
    heads = []
    for seq in range(2, 2 + data.draw(st.integers(0, 12))):
        new = _next(data, state.branches["main"], seq)
        events.append(new)
        state = fold(state, new)
        heads.append((seq, state.branches["main"].head))
    # Taken together, also where a part of them was folded before, as when a decision is taken again.
    assert fold_all(initial("t", "k"), events) == state
    cut = data.draw(st.integers(1, len(events)))
    assert fold_all(fold_all(initial("t", "k"), events[:cut]), events[cut:]) == state
    branch, replayed = state.branches["main"], accepted_branches(events).get("main")
    if replayed is None:
        assert branch.accepted == ()
        return
    assert [(t.text, t.id, t.seq, t.round) for t in replayed.tokens] == [
        (t.text, t.id, t.seq, t.round) for t in branch.accepted
    ]
    assert replayed.text.decode() == branch.text
    for end in range(1, branch.head + 1):
        first = next(seq for seq, head in heads if head >= end)
        closed = branch.accepted[end - 1].seq
        assert replayed.accepted_seq(end, closed) == first
        assert replayed.accepted_seq(end, closed + 1) is None
    assert replayed.accepted_seq(branch.head + 1, 2) is None


def _next(data: st.DataObject, branch, seq: int) -> Event:
    tokens = st.lists(TOKENS, min_size=1, max_size=5)
    kinds = [EventType.TOKENS_DRAFTED, EventType.TOKENS_RULED, EventType.DRAFTS_VOIDED]
    kind = data.draw(st.sampled_from(kinds if branch.pending else [*kinds, EventType.TOKENS_ACCEPTED]))
    if kind is EventType.TOKENS_RULED:
        judged = data.draw(st.integers(0, len(branch.pending)))
        stand = data.draw(st.integers(0, judged))
        own = data.draw(TOKENS if judged == 0 else st.none() | TOKENS)
        body = {"start": branch.head, "end": branch.head + judged, "accepted": stand, "token": own}
        return event(seq, kind, **body)
    if kind is EventType.DRAFTS_VOIDED:
        return event(seq, kind, because="taken_over")
    return event(seq, kind, tokens=data.draw(tokens))


@pytest.mark.parametrize(
    "bad",
    [
        event(3, EventType.TOKENS_RULED, start=1, end=2, accepted=1),
        event(3, EventType.TOKENS_RULED, start=0, end=3, accepted=1),
        event(3, EventType.TOKENS_RULED, start=0, end=1, accepted=2),
        event(3, EventType.TOKENS_RULED),
        event(3, EventType.TOKENS_ACCEPTED, tokens=[{"text": "a"}]),
        event(3, EventType.TOKENS_DRAFTED, tokens=[{"id": 1}]),
    ],
)
def test_a_history_that_does_not_fit_is_said_to_be_unreadable(bad: Event):
    drafted = event(2, EventType.TOKENS_DRAFTED, tokens=[{"text": "a"}, {"text": "b"}])
    with pytest.raises(UnreadableTokens) as error:
        accepted_branches([drafted, bad])
    assert error.value.seq == 3
