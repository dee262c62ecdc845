"""What every format promises: the same calls for every cut of the text, nothing repaired, nothing half closed."""

import pickle
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from decoding.calls.block import Block, Detector
from decoding.calls.formats import FORMATS, UnknownFormat, detector_for
from decoding.calls.scan import scan
from decoding.calls.scanner import ScanState
from tests.decoding.calls.naive import owners, size
from tests.decoding.calls.spellings import SPELLINGS, Spelling, texts, texts_of
from tests.decoding.calls.test_hermes import steps
from tests.decoding.calls.texts import cut

Outcome = tuple[str | None, str | None, str | None]
every_spelling = pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: spelling.name)
in_json = pytest.mark.parametrize(
    "spelling", [s for s in SPELLINGS if s.format != "qwen3_coder"], ids=lambda spelling: spelling.name
)
with_opener = pytest.mark.parametrize(
    "spelling", [s for s in SPELLINGS if s.opener != "{"], ids=lambda spelling: spelling.name
)
every_format = pytest.mark.parametrize("format_", FORMATS)

ONE, TWO, THREE = {"x": "1"}, {"y": "two words", "z": ""}, {"é": "漢😀"}


def outcomes(blocks: tuple[Block, ...]) -> list[Outcome]:
    return [(call.tool, call.arguments_raw, call.problem) for block in blocks for call in block.calls]


def every_cut_in_two(text: str) -> list[list[str]]:
    return [[text[:at], text[at:]] for at in range(len(text) + 1)]


def implied(blocks: tuple[Block, ...], tokens: list[str]) -> tuple[Block, ...]:
    """``blocks`` of the whole text in the token spans and ordinals that their bytes imply."""
    owner = [
        place for place, char in zip(owners(tokens), "".join(tokens), strict=True) for _ in range(size(char))
    ]
    made: list[Block] = []
    for block in blocks:
        start, end = owner[block.byte_start], owner[block.byte_end - 1] + 1
        before = sum(len(other.calls) for other in made if other.start == start)
        calls = tuple(replace(call, ordinal=before + place) for place, call in enumerate(block.calls))
        made.append(replace(block, start=start, end=end, calls=calls))
    return tuple(made)


def assert_the_cut_never_shows(detector: Detector[ScanState], tokens: list[str]) -> None:
    """After each token exactly the blocks are known that the text so far spells."""
    state = detector.start()
    found: list[Block] = []
    for fed, token in enumerate(tokens, 1):
        state, closed = detector.feed(state, token)
        found.extend(closed)
        so_far = tokens[:fed]
        whole, _ = detector.feed(detector.start(), "".join(so_far))
        assert tuple(found) == implied(scan(detector, ["".join(so_far)]), so_far)
        assert (state.mode, state.depth, state.tail) == (whole.mode, whole.depth, whole.tail)
        assert (detector.open_at(state) is None) == (detector.open_at(whole) is None)


# Calls as they are spelled


@every_spelling
def test_calls_keep_their_bytes_whatever_the_cut(spelling: Spelling) -> None:
    """vllm #41967, #38274: a token that ends one block and begins the next loses nothing, and adds nothing."""
    blocks = [spelling.block("a", ONE), spelling.block("b", TWO), spelling.block("c", THREE)]
    text = spelling.message(*blocks) + " done"
    expected = [(tool, spelling.raw(a), None) for tool, a in (("a", ONE), ("b", TWO), ("c", THREE))]
    detector = detector_for(spelling.format)
    for tokens in ([text], list(text), *every_cut_in_two(text)):
        found = scan(detector, tokens)
        assert outcomes(found) == expected
        assert found == implied(scan(detector, [text]), tokens)


@every_spelling
def test_three_whole_blocks_in_one_token_are_told_apart_by_ordinal(spelling: Spelling) -> None:
    blocks = [spelling.block(tool, ONE) for tool in "abc"]
    found = scan(detector_for(spelling.format), ["", spelling.message(*blocks), "."])
    assert [(b.start, b.end, b.calls[0].ordinal) for b in found] == [(1, 2, 0), (1, 2, 1), (1, 2, 2)]


@every_spelling
def test_spans_are_minimal(spelling: Spelling) -> None:
    text = spelling.block("a", ONE)
    whole = spelling.message(text)
    begins = len(whole) - len(text)
    (block,) = scan(detector_for(spelling.format), list(whole) + list(" and so on"))
    assert (block.start, block.end) == (begins, len(whole))
    assert whole.encode()[block.byte_start : block.byte_end].decode() == text
    assert text.startswith(spelling.opener)
    assert text.endswith(spelling.closer)


@every_spelling
def test_delimiters_inside_a_value_count_for_nothing(spelling: Spelling) -> None:
    """A quoted block is no block, and a quoted closer closes nothing."""
    closers = '} ] [ARGS] "' if spelling.format == "qwen3_coder" else f'{spelling.closer} }} ] [ARGS] "'
    inside = {"s": closers, "t": "\\" if spelling.format == "qwen3_coder" else '\\"\n'}
    detector = detector_for(spelling.format)
    text = spelling.message(spelling.block("a", inside)) + " done"
    for tokens in every_cut_in_two(text):
        assert outcomes(scan(detector, tokens)) == [("a", spelling.raw(inside), None)]
    quoted = {"s": spelling.block("evil", ONE)}
    for tokens in every_cut_in_two(spelling.message(spelling.block("a", quoted))):
        [(tool, raw, problem)] = outcomes(scan(detector, tokens))
        if spelling.format == "qwen3_coder":
            assert (tool, raw) == (None, None)
        else:
            assert (tool, raw) == ("a", spelling.raw(quoted))
        assert (problem is not None) == (tool is None)


# What is no call


@every_spelling
def test_a_block_cut_off_anywhere_is_no_call(spelling: Spelling) -> None:
    """cline #13001, DeepSeek DSpark #55: nothing closes a call but its own last byte."""
    detector = detector_for(spelling.format)
    text = spelling.message(spelling.block("write", {"content": "first half, second half"}))
    for at in range(len(text)):
        state, closed = detector.feed(detector.start(), text[:at])
        assert closed == ()
        opened = at >= len(text) - len(spelling.block("write", {"content": "first half, second half"}))
        assert (detector.open_at(state) is not None) <= opened


@with_opener
def test_a_stray_opener_ends_its_block_and_adds_nothing_to_the_next(spelling: Spelling) -> None:
    """vllm #53638."""
    text = spelling.opener + "\n" + spelling.block("a", ONE)
    for tokens in every_cut_in_two(text):
        expected: list[Outcome] = [(None, None, "opener_inside_block"), ("a", spelling.raw(ONE), None)]
        assert outcomes(scan(detector_for(spelling.format), tokens)) == expected


@in_json
def test_a_raw_control_character_in_a_string_ends_the_block(spelling: Spelling) -> None:
    text = spelling.message(spelling.block("a", {"s": "x@y"}).replace("@", "\n"))
    for tokens in every_cut_in_two(text):
        assert outcomes(scan(detector_for(spelling.format), tokens)) == [
            (None, None, "control_character_in_string")
        ]


@in_json
@pytest.mark.parametrize(
    ("old", "new"),
    [('": "', "': \""), ('{"x"', '{"x",'), ('"1"', "1,"), ('"1"', "True")],
)
def test_nothing_is_repaired(spelling: Spelling, old: str, new: str) -> None:
    text = spelling.block("a", ONE).replace(old, new) + spelling.closer
    (block, *more) = scan(detector_for(spelling.format), [text, ' "', spelling.closer]) or (None,)
    assert more == []
    if block is not None:
        assert [(call.tool, call.arguments_raw) for call in block.calls] == [(None, None)]
        assert block.calls[0].problem is not None


@in_json
def test_refused_values_leave_the_call_its_name(spelling: Spelling) -> None:
    for value, problem in (("9007199254740992", "json_integer_range"), ("NaN", "json_not_finite")):
        text = spelling.message(spelling.block("pay", ONE).replace('"1"', value))
        [outcome] = outcomes(scan(detector_for(spelling.format), [text]))
        assert outcome == ("pay", spelling.raw(ONE).replace('"1"', value), problem)
    twice = spelling.message(spelling.block("pay", ONE).replace('"x": "1"', '"x": "1", "x": "2"'))
    [(tool, _, refused)] = outcomes(scan(detector_for(spelling.format), [twice]))
    assert (tool, refused) == ("pay", "json_duplicate_name")


# For every text and every cut


@every_format
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_the_cut_never_shows(format_: str, data: st.DataObject) -> None:
    text = data.draw(texts | texts_of(format_))
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=12))
    assert_the_cut_never_shows(detector_for(format_), cut(text, places))


@pytest.mark.long
@every_format
@settings(max_examples=5_000, deadline=None)
@given(data=st.data())
def test_the_cut_never_shows_at_length(format_: str, data: st.DataObject) -> None:
    text = data.draw(texts | texts_of(format_))
    places = data.draw(st.lists(st.integers(0, len(text)), max_size=12))
    assert_the_cut_never_shows(detector_for(format_), cut(text, places))
    assert_the_cut_never_shows(detector_for(format_), list(text))


@every_format
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_states_are_values(format_: str, data: st.DataObject) -> None:
    detector = detector_for(format_)
    text, drafts = data.draw(texts_of(format_)), data.draw(texts)
    state = detector.start()
    for token in cut(text, data.draw(st.lists(st.integers(0, len(text)), max_size=8))):
        for fork in (state, pickle.loads(pickle.dumps(state))):
            detector.feed(fork, drafts)
            assert detector.feed(fork, token) == detector.feed(state, token)
        assert len(state.tail) == len(state.tail_tokens) < 14
        state, _ = detector.feed(state, token)


class LooksAtEachTokenAlone:
    """A detector that forgets what it held back."""

    def __init__(self, inner: Detector[ScanState]) -> None:
        self._inner = inner

    def start(self) -> ScanState:
        return self._inner.start()

    def feed(self, state: ScanState, text: str) -> tuple[ScanState, tuple[Block, ...]]:
        whole = replace(state, byte=state.byte + size(state.tail), tail="", tail_tokens=())
        return self._inner.feed(whole, text)

    def open_at(self, state: ScanState) -> int | None:
        return self._inner.open_at(state)


@every_format
def test_the_property_sees_a_detector_that_depends_on_the_cut(format_: str) -> None:
    faulty = LooksAtEachTokenAlone(detector_for(format_))

    @settings(max_examples=1000, deadline=None, database=None, phases=[Phase.generate])
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        text = data.draw(texts_of(format_))
        assert_the_cut_never_shows(faulty, list(text))

    with pytest.raises(AssertionError):
        holds()


def test_formats_by_name() -> None:
    assert {spelling.format for spelling in SPELLINGS} == set(FORMATS)
    with pytest.raises(UnknownFormat, match="harmony") as refused:
        detector_for("harmony")
    assert refused.value.code == "not_supported"


# Cost


@every_spelling
@pytest.mark.parametrize("piece", ["abcde", '", "', "[TOOL", "<tool", "</para", "é<|"])
def test_work_grows_with_the_text_and_no_faster(spelling: Spelling, piece: str) -> None:
    head = spelling.block("a", {"s": "@"}).partition("@")[0]
    detector = detector_for(spelling.format)

    def work(tokens: int) -> int:
        return steps(lambda: scan(detector, [head, *[piece] * tokens]))

    small, large = work(100), work(400)
    assert large < 4.2 * small
