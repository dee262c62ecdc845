"""For every text and every cut: the blocks of the whole text, in the token spans that the cut implies."""

import pickle
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from decoding.calls.block import Block, Call, Detector
from decoding.calls.hermes import CLOSER, HermesDetector, HermesState
from decoding.calls.scan import scan
from tests.decoding.calls import naive
from tests.decoding.calls.texts import cut, texts, texts_with_calls, token_streams

DETECTOR = HermesDetector()


def assert_equals_whole_text(detector: Detector[HermesState], tokens: list[str]) -> None:
    """After each token exactly the blocks are known that the text so far decides, and which one is open."""
    state = detector.start()
    found: list[Block] = []
    for fed, token in enumerate(tokens, start=1):
        state, closed = detector.feed(state, token)
        found.extend(closed)
        assert tuple(found) == naive.blocks(tokens[:fed])
        assert detector.open_at(state) == naive.open_at(tokens[:fed])


@settings(max_examples=250, deadline=None)
@given(token_streams())
def test_any_cut_gives_the_blocks_of_the_whole_text(tokens: list[str]) -> None:
    assert_equals_whole_text(DETECTOR, tokens)


def in_bytes(blocks: tuple[Block, ...]) -> list[tuple[int, int, list[Call]]]:
    return [(b.byte_start, b.byte_end, [replace(c, ordinal=0) for c in b.calls]) for b in blocks]


@settings(max_examples=400, deadline=None)
@given(texts, st.data())
def test_two_cuts_of_one_text_agree_in_bytes_and_calls(text: str, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=20))
    assert in_bytes(scan(DETECTOR, cut(text, places))) == in_bytes(scan(DETECTOR, [text]))


@pytest.mark.long
@settings(max_examples=10_000, deadline=None)
@given(token_streams())
def test_ten_thousand_cuts(tokens: list[str]) -> None:
    assert scan(DETECTOR, tokens) == naive.blocks(tokens)


@settings(max_examples=150, deadline=None)
@given(token_streams(texts_with_calls))
def test_spans_are_minimal_and_arguments_are_substrings(tokens: list[str]) -> None:
    text = "".join(tokens).encode()
    ends = list(accumulate(naive.size(token) for token in tokens))
    for block in scan(DETECTOR, tokens):
        spelled = text[block.byte_start : block.byte_end]
        assert spelled.startswith(b"<tool_call>")
        # The first token holds the first byte, the last token the last byte.
        assert ends[block.start] - naive.size(tokens[block.start]) <= block.byte_start < ends[block.start]
        last = block.end - 1
        assert ends[last] - naive.size(tokens[last]) < block.byte_end <= ends[last]
        for call in block.calls:
            assert call.arguments_raw is None or call.arguments_raw.encode() in spelled


@settings(max_examples=120, deadline=None)
@given(token_streams(), token_streams())
def test_drafts_never_disturb_the_state_they_were_fed_to(tokens: list[str], drafts: list[str]) -> None:
    state = DETECTOR.start()
    found: list[Block] = []
    for token in tokens:
        fork = state
        for draft in drafts:
            fork, _ = DETECTOR.feed(fork, draft)
        again, closed_again = DETECTOR.feed(state, token)
        state, closed = DETECTOR.feed(state, token)
        assert (again, closed_again) == (state, closed)
        assert hash(again) == hash(state)
        found.extend(closed)
    assert tuple(found) == naive.blocks(tokens)


@settings(max_examples=200, deadline=None)
@given(token_streams(), token_streams())
def test_a_state_survives_pickling(before: list[str], after: list[str]) -> None:
    state = DETECTOR.start()
    for token in before:
        state, _ = DETECTOR.feed(state, token)
    loaded = pickle.loads(pickle.dumps(state))
    assert loaded == state
    for token in after:
        state, closed = DETECTOR.feed(state, token)
        loaded, closed_too = DETECTOR.feed(loaded, token)
        assert closed == closed_too


@settings(max_examples=300, deadline=None)
@given(token_streams())
def test_what_is_held_back_is_shorter_than_a_delimiter(tokens: list[str]) -> None:
    state = DETECTOR.start()
    for token in tokens:
        state, _ = DETECTOR.feed(state, token)
        assert len(state.tail) == len(state.tail_tokens) < len(CLOSER)


# Negative controls: detectors with faults that engines' parsers have had. The property must see each of them.


class ForgetsTheTail(HermesDetector):
    """Looks at each token alone, so a delimiter cut in two is not seen."""

    def feed(self, state: HermesState, text: str) -> tuple[HermesState, tuple[Block, ...]]:
        whole = replace(state, byte=state.byte + naive.size(state.tail), tail="", tail_tokens=())
        return super().feed(whole, text)


class OneBlockAToken(HermesDetector):
    """Takes an increment for one event: a second block closed by the same token is lost (vllm #41967)."""

    def feed(self, state: HermesState, text: str) -> tuple[HermesState, tuple[Block, ...]]:
        after, closed = super().feed(state, text)
        return after, closed[:1]


class EndsWhereItIsReported(HermesDetector):
    """Says that each block ends in the token which made the end known."""

    def feed(self, state: HermesState, text: str) -> tuple[HermesState, tuple[Block, ...]]:
        after, closed = super().feed(state, text)
        return after, tuple(replace(block, end=after.position) for block in closed)


class CountsOrdinalsOnAndOn(HermesDetector):
    """Ordinals go on from token to token."""

    def feed(self, state: HermesState, text: str) -> tuple[HermesState, tuple[Block, ...]]:
        after, closed = super().feed(state, text)
        return replace(after, begun_in=after.position), closed


@pytest.mark.parametrize(
    "faulty", [ForgetsTheTail(), OneBlockAToken(), EndsWhereItIsReported(), CountsOrdinalsOnAndOn()]
)
def test_the_property_sees_a_detector_that_depends_on_the_cut(faulty: Detector[HermesState]) -> None:
    @settings(
        max_examples=2000, deadline=None, database=None, phases=[Phase.generate], report_multiple_bugs=False
    )
    @given(token_streams())
    def holds(tokens: list[str]) -> None:
        assert_equals_whole_text(faulty, tokens)

    with pytest.raises(AssertionError):
        holds()
