"""Tokens of a branch in stretches, held against plain tuples of single tokens."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.tokens import NO_TOKENS, Stretch, Token, Tokens, stretch

SAID = st.lists(
    st.fixed_dictionaries(
        {"text": st.sampled_from(["a", "b", "é", ""])},
        optional={"id": st.sampled_from([None, 1, 2]), "drafter": st.sampled_from([None, "small"])},
    ),
    min_size=1,
    max_size=4,
)


def made(parts: list[list[dict[str, object]]], *, offset: int = 0) -> tuple[Tokens, tuple[Token, ...]]:
    tokens, plain = NO_TOKENS, ()
    for seq, said in enumerate(parts, 1):
        tokens = tokens.plus(stretch(said, start=offset + len(tokens), round_=seq % 2, seq=seq))
        plain += tuple(Token(t["text"], t.get("id"), seq % 2, seq, t.get("drafter")) for t in said)
    return tokens, plain


@given(st.lists(SAID, max_size=5), st.integers(0, 3), st.data())
def test_they_are_a_sequence_like_any_other(parts, offset, data):
    tokens, plain = made(parts, offset=offset)
    assert len(tokens) == len(plain)
    assert tuple(tokens) == plain
    assert tokens == plain
    assert list(tokens.texts) == [t.text for t in plain]
    assert list(tokens.ids) == [t.id for t in plain]
    assert [tokens[at] for at in range(-len(plain), len(plain))] == [*plain, *plain]
    first, end = data.draw(st.integers(-20, 20)), data.draw(st.integers(-20, 20))
    assert tuple(tokens[first:end]) == plain[first:end]
    number = data.draw(st.integers(0, 20))
    assert tuple(tokens.first(number)) == plain[:number]
    assert tuple(tokens.after(number)) == plain[number:]
    assert tokens.begins_with(tokens.first(number))
    assert hash(tokens) == hash(plain)


@given(st.lists(SAID, min_size=1, max_size=4), SAID, SAID)
def test_what_is_added_later_does_not_change_them(parts, one, other):
    tokens, plain = made(parts)
    longer = [
        tokens.plus(stretch(said, start=len(plain), round_=7, seq=seq))
        for seq, said in ((8, one), (8, one), (9, other), (8, one))
    ]
    assert tokens == plain
    assert longer[0] == longer[1] == longer[3] != longer[2]
    assert tuple(longer[2][len(plain) :]) == tuple(stretch(other, start=0, round_=7, seq=9).tokens())
    assert all(each.begins_with(tokens) for each in longer)
    assert not longer[0].begins_with(longer[2])
    assert not tokens.begins_with(longer[0])


def test_threads_that_add_to_the_same_tokens_get_their_own():
    def add(number: int) -> Tokens:
        tokens = start
        for seq in range(50):
            tokens = tokens.plus(Stretch(len(tokens), (str(number),), (number,), (None,), 0, seq))
        return tokens

    start, _ = made([[{"text": "a"}]])
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(add, range(40)))
    for number, tokens in enumerate(found):
        assert list(tokens.texts) == ["a", *[str(number)] * 50]


def test_there_is_no_token_beyond_the_end():
    tokens, _ = made([[{"text": "a"}]])
    for place in (1, -2):
        with pytest.raises(IndexError):
            tokens[place]
    with pytest.raises(ValueError, match="neighbouring"):
        tokens[::2]
