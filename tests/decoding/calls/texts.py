"""Random texts in which calls are spelled well and badly, and random ways to cut them into tokens."""

from hypothesis import strategies as st

VALID = (
    '<tool_call>{"name": "look", "arguments": {"id": "W1"}}</tool_call>',
    '<tool_call>\n{"arguments": {}, "name": "é😀"}\n</tool_call>',
    '<tool_call>{"name":"x","arguments":{"s":"</tool_call> \\" <tool_call> \\\\"}}</tool_call>',
)
BROKEN = (
    '<tool_call>{"name": "look", "arguments": {"a": 1, "a": 2}}</tool_call>',
    '<tool_call>{"name": "look", "arguments": {"a": NaN}}</tool_call>',
    '<tool_call>{"name": "look", "arguments": {"a": 1}</tool_call>',
    '<tool_call>{"name": "look", "arguments": {"a": "cut',
    '<tool_call>{"name": "look", "arg\n',
    "<tool_call>[]</tool_call>",
    "<tool_call></tool_call>",
)
PIECES = (
    "<tool_call>",
    "</tool_call>",
    "<tool_",
    "call>",
    "</tool",
    "_call>",
    "<",
    "</",
    ">",
    '"',
    '\\"',
    "\\",
    "\\\\",
    "\n",
    "\x00",
    "\x1f",
    "\x7f",
    " ",
    "é",
    "漢",
    "😀",
    "\ud800",
    "{",
    "}",
    ":",
    ",",
    '"name"',
    '"arguments"',
    '"look"',
    "text",
)

texts = st.lists(st.sampled_from(VALID + BROKEN + PIECES) | st.text(max_size=3), max_size=14).map("".join)
texts_with_calls = st.lists(st.sampled_from(VALID + BROKEN), min_size=1, max_size=4).map("".join)


def cut(text: str, places: list[int]) -> list[str]:
    """``text`` cut at ``places``, which may repeat (empty tokens)."""
    ends = [*sorted(places), len(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@st.composite
def token_streams(draw: st.DrawFn, source: st.SearchStrategy[str] = texts) -> list[str]:
    """The tokens of one random text."""
    text = draw(source)
    how = draw(st.sampled_from(["whole", "characters", "anyhow"]))
    if how == "whole":
        return [text]
    if how == "characters":
        return list(text)
    return cut(text, draw(st.lists(st.integers(0, len(text)), max_size=12)))
