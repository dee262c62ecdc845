"""Named cases: what went wrong elsewhere, and what the words of the design promise."""

import sys
from collections.abc import Callable

import pytest

from decoding.calls import hermes
from decoding.calls.block import Block, Call
from decoding.calls.hermes import HermesDetector, HermesState
from decoding.calls.scan import scan

DETECTOR = HermesDetector()


def call(name: str, arguments: str = "{}") -> str:
    return f'<tool_call>{{"name": "{name}", "arguments": {arguments}}}</tool_call>'


def spans(blocks: tuple[Block, ...]) -> list[tuple[int, int, int]]:
    return [(b.start, b.end, b.calls[0].ordinal) for b in blocks]


def outcomes(blocks: tuple[Block, ...]) -> list[tuple[str | None, str | None, str | None]]:
    return [(c.tool, c.arguments_raw, c.problem) for b in blocks for c in b.calls]


def feed(state: HermesState, *tokens: str) -> tuple[HermesState, list[Block]]:
    found: list[Block] = []
    for token in tokens:
        state, closed = DETECTOR.feed(state, token)
        found.extend(closed)
    return state, found


# Reports from elsewhere


def test_vllm_41967_end_and_start_in_one_token_lose_no_arguments() -> None:
    first, second = call("a", '{"x": 1}'), call("b", '{"y": [2]}')
    tokens = [first[:30], first[30:] + second[:25], second[25:]]
    blocks = scan(DETECTOR, tokens)
    assert outcomes(blocks) == [("a", '{"x": 1}', None), ("b", '{"y": [2]}', None)]
    assert spans(blocks) == [(0, 2, 0), (1, 3, 0)]


def test_vllm_41967_three_whole_blocks_in_one_token() -> None:
    blocks = scan(DETECTOR, ["", call("a") + call("b") + call("c"), call("d")])
    assert [c[0] for c in outcomes(blocks)] == ["a", "b", "c", "d"]
    assert spans(blocks) == [(1, 2, 0), (1, 2, 1), (1, 2, 2), (2, 3, 0)]


def test_vllm_38274_the_last_brace_is_neither_lost_nor_invented() -> None:
    text = call("a", '{"x": {"y": {}}}')
    end = len(text) - len("</tool_call>")
    for at in range(end - 5, len(text)):
        assert outcomes(scan(DETECTOR, [text[:at], text[at:]])) == [("a", '{"x": {"y": {}}}', None)]
    missing_brace = text[: end - 1] + text[end:]
    assert outcomes(scan(DETECTOR, [missing_brace])) == [(None, None, "json_syntax")]


def test_vllm_53638_stray_opener_ends_its_block_and_adds_nothing_to_the_next() -> None:
    blocks = scan(DETECTOR, ["<tool_call>", "\n", call("a", '{"x": 1}')])
    assert outcomes(blocks) == [(None, None, "opener_inside_block"), ("a", '{"x": 1}', None)]
    assert spans(blocks) == [(0, 2, 0), (2, 3, 0)]


def test_cline_13001_a_call_that_is_cut_off_is_no_call() -> None:
    text = call("write", '{"content": "first half, second half"}')
    for at in range(len(text)):
        state, blocks = feed(DETECTOR.start(), text[:at])
        assert blocks == []
        assert DETECTOR.open_at(state) == (0 if at >= len("<tool_call>") else None)
    # Not even with a closing delimiter glued on: the string is open, and a line end makes it unparsable.
    cut_in_string = text[: text.index("second")]
    assert scan(DETECTOR, [cut_in_string + "</tool_call>"]) == ()
    assert outcomes(scan(DETECTOR, [cut_in_string + "</tool_call>\n"])) == [
        (None, None, "control_character_in_string")
    ]


# Where a block ends


@pytest.mark.parametrize(
    "string",
    [
        '"</tool_call>"',
        '"<tool_call>"',
        r'"\"</tool_call>"',
        r'"\\\"</tool_call>\\"',
        r'"<tool_call>\u0022</tool_call>"',
    ],
)
def test_delimiters_in_strings_count_for_nothing(string: str) -> None:
    text = call("a", f'{{"s": {string}}}')
    expected = [("a", f'{{"s": {string}}}', None)]
    assert outcomes(scan(DETECTOR, [text])) == outcomes(scan(DETECTOR, list(text))) == expected


def test_a_backslash_outside_a_string_escapes_nothing() -> None:
    blocks = scan(DETECTOR, ["<tool_call>\\", '"</tool_call>"', "</tool_call>"])
    assert spans(blocks) == [(0, 3, 0)]


def test_control_character_ends_the_block_at_once_and_what_follows_is_text() -> None:
    state, blocks = feed(DETECTOR.start(), "<tool_call>", '{"name": "a', "\n", '", </tool_call>', call("b"))
    assert outcomes(tuple(blocks)) == [(None, None, "control_character_in_string"), ("b", "{}", None)]
    assert spans(tuple(blocks)) == [(0, 3, 0), (4, 5, 0)]
    assert DETECTOR.open_at(state) is None


def test_an_escaped_control_character_ends_the_block_too() -> None:
    for tokens in (['<tool_call>"\\\n'], ['<tool_call>"\\', "\n"]):
        assert outcomes(scan(DETECTOR, tokens)) == [(None, None, "control_character_in_string")]


def test_a_block_ended_by_an_opener_is_known_when_the_opener_is_complete() -> None:
    state, blocks = feed(DETECTOR.start(), "<tool_call>", " x", "", "<tool", "", "_call")
    assert blocks == []
    assert DETECTOR.open_at(state) == 0
    state, blocks = feed(state, ">")
    assert blocks == [Block(0, 2, 0, 13, (Call(0, None, None, "opener_inside_block"),))]
    assert DETECTOR.open_at(state) == 3
    _, blocks = feed(state, "{}</tool_call>")
    assert [(b.start, b.end, b.byte_start) for b in blocks] == [(3, 8, 13)]


def test_openers_only() -> None:
    text = "<tool_call><tool_call><tool_call>"
    blocks = scan(DETECTOR, [text])
    assert [(b.byte_start, b.byte_end, b.calls[0].ordinal) for b in blocks] == [(0, 11, 0), (11, 22, 1)]
    assert spans(scan(DETECTOR, list(text))) == [(0, 11, 0), (11, 22, 0)]


def test_text_stray_closers_and_bare_json_are_ignored() -> None:
    assert (
        scan(DETECTOR, ['</tool_call> {"name": "a", "arguments": {}} </tool_call> <tool_cal <tool_calls>'])
        == ()
    )


def test_bytes_are_counted_in_utf8() -> None:
    (block,) = scan(DETECTOR, ["é漢", "😀" + call("a")])
    assert (block.byte_start, block.byte_end) == (9, 9 + len(call("a")))
    assert (block.start, block.end) == (1, 2)


def test_neighbours_may_share_a_token_and_empty_tokens_belong_to_no_block() -> None:
    text = call("a") + call("b")
    middle = len(call("a"))
    tokens = ["", text[: middle - 3], "", text[middle - 3 : middle + 2], "", text[middle + 2 :], ""]
    assert spans(scan(DETECTOR, tokens)) == [(1, 4, 0), (3, 6, 0)]


# States


def test_drafts_fed_to_an_old_state_leave_it_alone() -> None:
    text = call("pay", '{"amount": 10}')
    state, _ = feed(DETECTOR.start(), text[: text.index("10")])
    _, drafted = feed(state, "99", "}}</tool_call>")
    _, broken = feed(state, '"\n')
    _, accepted = feed(state, "10}}", "</tool_call>")
    assert outcomes(tuple(drafted)) == [("pay", '{"amount": 99}', None)]
    assert outcomes(tuple(broken)) == [(None, None, "control_character_in_string")]
    assert outcomes(tuple(accepted)) == [("pay", '{"amount": 10}', None)]


def test_open_at_forgets_a_closed_block() -> None:
    state, _ = feed(DETECTOR.start(), "x", "<tool", "_call>", "{")
    assert DETECTOR.open_at(state) == 1
    state, _ = feed(state, "}</tool_call>")
    assert DETECTOR.open_at(state) is None


# Cost


def steps(run: Callable[[], object]) -> int:
    """How many calls, of Python functions and of built-in ones, ``run`` makes."""
    count = 0

    def see(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("piece", ["abcde", '\\"', '", "', "<tool", "é<"])
def test_work_grows_with_the_text_and_no_faster(piece: str) -> None:
    """Together with the bound on the tail: no text is looked at again when a later token comes."""

    def work(tokens: int) -> int:
        return steps(lambda: scan(DETECTOR, ['<tool_call>"', *[piece] * tokens, "</tool_call>"]))

    small, large = work(500), work(2000)
    assert large < 4.2 * small


def test_a_long_block_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def counting(payload: str, ordinal: int) -> Call:
        lengths.append(len(payload))
        return Call(ordinal, "seen", "{}")

    monkeypatch.setattr(hermes, "call_in", counting)
    tokens = ['<tool_call>{"a": "', *["word "] * 100_000, '"}</tool_call>']
    (block,) = scan(DETECTOR, tokens)
    assert (block.start, block.end) == (0, 100_002)
    assert lengths == [500_009]
