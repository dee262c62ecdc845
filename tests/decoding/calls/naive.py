"""The reference that the detector is held against: the whole text at once, one character after another."""

from dataclasses import dataclass, replace

from decoding.calls.block import Block, Call
from decoding.calls.payload import call_in, unparsable

OPENER = "<tool_call>"
CLOSER = "</tool_call>"


@dataclass(frozen=True)
class Found:
    """A block in characters [start, end)."""

    start: int
    end: int
    call: Call


def find(text: str) -> tuple[list[Found], int | None]:
    """The closed blocks of ``text`` and the character where a block is still open, or None."""
    found: list[Found] = []
    start: int | None = None
    in_string = False
    i = 0
    while i < len(text):
        char = text[i]
        if start is None:
            if text.startswith(OPENER, i):
                start, in_string = i, False
                i += len(OPENER)
            else:
                i += 1
        elif in_string and char < " ":
            i += 1
            found.append(Found(start, i, unparsable(0, "control_character_in_string")))
            start = None
        elif in_string:
            escapes = char == "\\" and text[i + 1 : i + 2] >= " "
            in_string = char != '"'
            i += 2 if escapes else 1
        elif text.startswith(OPENER, i):
            found.append(Found(start, i, unparsable(0, "opener_inside_block")))
            start = None
        elif text.startswith(CLOSER, i):
            payload = text[start + len(OPENER) : i]
            i += len(CLOSER)
            found.append(Found(start, i, call_in(payload, 0)))
            start = None
        else:
            in_string = char == '"'
            i += 1
    return found, start


def blocks(tokens: list[str]) -> tuple[Block, ...]:
    """The blocks of the joined text, in the token spans that their characters imply."""
    text = "".join(tokens)
    owner = owners(tokens)
    made: list[Block] = []
    for block in find(text)[0]:
        start = owner[block.start]
        ordinal = sum(1 for other in made if other.start == start)
        made.append(
            Block(
                start=start,
                end=owner[block.end - 1] + 1,
                byte_start=size(text[: block.start]),
                byte_end=size(text[: block.end]),
                calls=(replace(block.call, ordinal=ordinal),),
            )
        )
    return tuple(made)


def open_at(tokens: list[str]) -> int | None:
    """The token where a block is open after ``tokens``, or None."""
    start = find("".join(tokens))[1]
    return None if start is None else owners(tokens)[start]


def owners(tokens: list[str]) -> list[int]:
    """For each character its token."""
    return [position for position, token in enumerate(tokens) for _ in token]


def size(text: str) -> int:
    """Bytes of UTF-8; three for a lone surrogate."""
    return len(text.encode("utf-8", "surrogatepass"))
