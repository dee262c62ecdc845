"""A call as it is gathered from deltas."""

import re
from dataclasses import dataclass, field

from effects.canonical import canonical
from effects.strict_json import JSONRefused, parse
from gateway.hosted.spelling import is_object, joined, spelled_call, spelled_open

_MARKS = re.compile(r'\\.|\\\Z|["{}]', re.DOTALL)


class Balance:
    """Whether a JSON object that arrives in fragments may be at its end, found without reading any of it twice."""

    def __init__(self) -> None:
        """Nothing has arrived."""
        self._depth = 0
        self._in_string = self._escape = False

    def take(self, fragment: str) -> bool:
        """Whether the last brace of the object closes within ``fragment``."""
        closes = False
        at = 1 if self._escape and fragment else 0
        self._escape = self._escape and not fragment
        for mark in _MARKS.finditer(fragment, at):
            found = mark.group()
            if found == '"':
                self._in_string = not self._in_string
            elif found.startswith("\\"):
                self._escape = len(found) == 1
            elif not self._in_string:
                self._depth += 1 if found == "{" else -1
                closes = closes or self._depth == 0
        return closes


@dataclass(eq=False)
class GatheredCall:
    """One call of a message. ``call_id``: the provider's latest word for it, never its identity. ``ended``: the provider said
    that it is. ``by_value``: the arguments were written by a reader of JSON, so only their value counts."""

    name: str = ""
    call_id: str | None = None
    ended: bool = False
    by_value: bool = False
    _fragments: list[str] = field(default_factory=list)
    _balance: Balance = field(default_factory=Balance)
    _whole: bool = False

    @property
    def arguments(self) -> str:
        """What arrived of the arguments."""
        return joined("".join(self._fragments))

    @property
    def is_whole(self) -> bool:
        """Whether the arguments are one JSON object so far."""
        return self._whole

    @property
    def is_empty(self) -> bool:
        """Whether nothing of the arguments arrived."""
        return not self._fragments

    def add(self, fragment: str) -> None:
        """Take the next fragment of the arguments."""
        if not fragment:
            return
        self._fragments.append(fragment)
        if self._balance.take(fragment) or self._whole:
            self._whole = is_object(self.arguments)

    def replace(self, arguments: str) -> None:
        """Take all of the arguments instead of what arrived."""
        if arguments != "".join(self._fragments):
            self._fragments, self._balance, self._whole = [], Balance(), False
            self.add(arguments)

    def spelled(self) -> str:
        """Its block. Arguments of a call that was not ended are never an object."""
        return spelled_call(self.name, self.arguments, whole=self.ended)

    def spelled_open(self) -> str:
        """Its block without an end."""
        return spelled_open(self.name, self.arguments)

    def says(self, drafted: str) -> bool:
        """Whether it is the call that ``drafted`` spells."""
        return self.spelled() == drafted

    def same_value(self, other: "GatheredCall") -> bool:
        """Whether both ask for the same, by the value of their arguments."""
        if self.name != other.name:
            return False
        try:
            return canonical(parse(self.arguments)) == canonical(parse(other.arguments))
        except JSONRefused:
            return False
