"""How each format spells the same calls, for tests that hold for all of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

from effects.canonical import canonical

Arguments = Mapping[str, str]


@dataclass(frozen=True)
class Spelling:
    """One way to spell calls. ``opener`` begins a block, ``closer`` ends it; ``hidden``: an argument in which both count for
    nothing; ``gap``: what stands between two blocks."""

    name: str
    format: str
    opener: str
    closer: str
    head: str
    tail: str
    gap: str = ""
    lead: str = "Let me see. "

    def block(self, tool: str, arguments: Arguments) -> str:
        return self.head.replace("NAME", tool) + self.body(arguments) + self.tail

    def body(self, arguments: Arguments) -> str:
        return json.dumps(arguments)

    def raw(self, arguments: Arguments) -> str:
        return json.dumps(arguments)

    def message(self, *blocks: str) -> str:
        return self.lead + self.gap.join(blocks)


@dataclass(frozen=True)
class XmlSpelling(Spelling):
    def body(self, arguments: Arguments) -> str:
        return "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in arguments.items())

    def raw(self, arguments: Arguments) -> str:
        return canonical(dict(arguments)).decode()


SPELLINGS = (
    Spelling(
        "hermes",
        "hermes",
        "<tool_call>",
        "</tool_call>",
        '<tool_call>{"name": "NAME", "arguments": ',
        "}</tool_call>",
    ),
    Spelling(
        "llama3-tagged",
        "llama3",
        "<|python_tag|>",
        "}",
        '<|python_tag|>{"name": "NAME", "parameters": ',
        "}",
    ),
    Spelling(
        "llama3-bare", "llama3", "{", "}", '{"name": "NAME", "parameters": ', "}", gap=" ;\n", lead="\n "
    ),
    Spelling(
        "mistral-array",
        "mistral",
        "[TOOL_CALLS]",
        "]",
        '[TOOL_CALLS] [{"name": "NAME", "arguments": ',
        "}]",
    ),
    Spelling("mistral-args", "mistral", "[TOOL_CALLS]", "}", "[TOOL_CALLS]NAME[ARGS]", ""),
    XmlSpelling(
        "qwen3-coder",
        "qwen3_coder",
        "<tool_call>",
        "</tool_call>",
        "<tool_call>\n<function=NAME>\n",
        "</function>\n</tool_call>",
    ),
)

BY_FORMAT = {spelling.format: spelling for spelling in SPELLINGS}

PIECES = (
    *(
        "<tool_call>",
        "</tool_call>",
        "<tool_",
        "call>",
        "</",
        "<",
        ">",
        "<|python_tag|>",
        "<|python",
        "_tag|>",
        "|>",
    ),
    *("[TOOL_CALLS]", "[TOOL_", "CALLS]", "[ARGS]", "[ARGS", "[CALL_ID]", "[", "]", "[T", "[A"),
    *("<function=look>", "</function>", "<parameter=id>", "<parameter=", "</parameter>", "</para", "meter>"),
    *(
        '"',
        '\\"',
        "\\",
        "\\\\",
        "\n",
        "\x00",
        " ",
        ";",
        "{",
        "}",
        ":",
        ",",
        "é",
        "😀",
        "\ud800",
        "look",
        "text",
    ),
    *(
        '"name"',
        '"arguments"',
        '"parameters"',
        '"look"',
        '{"name": "look", "parameters": {}}',
        '{"answer": 42}',
    ),
)
WHOLE = tuple(
    spelling.block(tool, arguments)
    for spelling in SPELLINGS
    for tool, arguments in (
        ("look", {"id": "W1"}),
        ("é", {}),
        ("x", {"s": '</tool_call> " ] } \\ [TOOL_CALLS]'}),
    )
)

texts = st.lists(st.sampled_from(WHOLE + PIECES) | st.text(max_size=3), max_size=12).map("".join)


@st.composite
def texts_of(draw: st.DrawFn, format_: str) -> str:
    """Texts in which blocks of one format are frequent."""
    blocks = [
        spelling.lead + spelling.block(tool, {"id": value})
        for spelling in SPELLINGS
        if spelling.format == format_
        for tool, value in (("look", "W1"), ("pay", "</tool_call> ] }"))
    ]
    pieces = st.sampled_from(tuple(blocks)) | st.sampled_from(PIECES) | st.just(" ; ")
    return "".join(draw(st.lists(pieces, max_size=8)))
