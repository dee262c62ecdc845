"""Where tokens spell call blocks, found the slow way: all text at once, character by character (design.md, "call block")."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

OPEN, CLOSE = "<tool_call>", "</tool_call>"


@dataclass(frozen=True)
class Spelled:
    """A closed block. ``known``: the token that shows where it ends. ``payload`` None: ended as unparsable."""

    start: int
    end: int
    ordinal: int
    byte_start: int
    byte_end: int
    payload: str | None
    known: int

    def call(self) -> tuple[str | None, dict[str, object] | None]:
        """(tool, arguments) that the block asks for; (None, None) where it does not parse."""
        try:
            body = json.loads(self.payload or "")
        except ValueError:
            return None, None
        if not isinstance(body, dict) or body.keys() != {"name", "arguments"}:
            return None, None
        tool, arguments = body["name"], body["arguments"]
        if not isinstance(tool, str) or not tool or not isinstance(arguments, dict):
            return None, None
        return tool, arguments


def blocks(texts: Sequence[str]) -> list[Spelled]:
    """All closed blocks in the text that the tokens spell together."""
    text = "".join(texts)
    owner = [index for index, token in enumerate(texts) for _ in token]
    found: list[Spelled] = []
    starts: list[int] = []
    at = text.find(OPEN)
    while at >= 0:
        stop, payload, shown = _end(text, at + len(OPEN))
        if stop is None:
            break
        starts.append(owner[at])
        found.append(
            Spelled(
                start=owner[at],
                end=owner[stop - 1] + 1,
                ordinal=starts.count(owner[at]) - 1,
                byte_start=len(text[:at].encode()),
                byte_end=len(text[:stop].encode()),
                payload=payload,
                known=owner[shown - 1],
            )
        )
        at = text.find(OPEN, stop)
    return found


def open_tail(texts: Sequence[str]) -> str | None:
    """What stands behind the opener of a block that is not closed; None where no block is open."""
    text = "".join(texts)
    at = text.find(OPEN)
    while at >= 0:
        stop, _, _ = _end(text, at + len(OPEN))
        if stop is None:
            return text[at + len(OPEN) :]
        at = text.find(OPEN, stop)
    return None


def _end(text: str, at: int) -> tuple[int | None, str | None, int]:
    """(where the block ends, its payload, behind what character that is seen) of the block whose payload begins at ``at``."""
    begun, quoted = at, False
    while at < len(text):
        character = text[at]
        if quoted:
            if ord(character) < 0x20:
                return at + 1, None, at + 1
            if character == "\\":
                at += 1
            quoted = character != '"'
        elif character == '"':
            quoted = True
        elif text.startswith(CLOSE, at):
            return at + len(CLOSE), text[begun:at], at + len(CLOSE)
        elif text.startswith(OPEN, at):
            return at, None, at + len(OPEN)
        at += 1
    return None, None, 0
