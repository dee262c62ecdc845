"""The effect table in force: its version in the ledger and what it says."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Lock

from effects.arguments import MAX_ARGUMENTS, TOO_LONG
from effects.canonical import canonical
from effects.limits import Limits
from effects.strict_json import JSONRefused, parse
from effects.table import Classification, EffectTable
from effects.typed_texts import typed
from gateway.turn.brakes import EVERY_TOOL, NONE, Brakes
from ledger.state import StreamState

REMEMBERED = 10_000
"""Calls whose classification is kept: a call is judged again at every step of its turn."""

REMEMBERED_CHARACTERS = 16 * MAX_ARGUMENTS
"""Characters of all their arguments together, at most."""


class _Remembered:
    """Classifications by tool and arguments, within both bounds. Threads share it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, str | None], Classification] = {}
        self._characters = 0
        self._lock = Lock()

    def get(self, call: tuple[str | None, str | None]) -> Classification | None:
        return self._known.get(call)

    def keep(self, call: tuple[str | None, str | None], known: Classification) -> None:
        size = len(call[1] or "")
        if size > MAX_ARGUMENTS:
            # Judged without being read, so nothing is won.
            return
        with self._lock:
            if call in self._known:
                return
            if len(self._known) >= REMEMBERED or self._characters + size > REMEMBERED_CHARACTERS:
                self._known.clear()
                self._characters = 0
            self._known[call] = known
            self._characters += size


@dataclass(frozen=True, slots=True)
class TableInForce:
    """One version of a tenant's effect table. ``version`` 0: none was ever applied, so every tool is unknown.

    ``brakes``: what else holds the tenant's calls back, as was known a moment ago.
    """

    version: int
    table: EffectTable
    brakes: Brakes = NONE
    _known: _Remembered = field(default_factory=_Remembered, repr=False, compare=False)

    def under(self, brakes: Brakes) -> "TableInForce":
        """The same with ``brakes``; itself where it has them already."""
        return self if brakes == self.brakes else replace(self, brakes=brakes, _known=self._known)

    def classify(self, tool: str | None, arguments_raw: str | None) -> Classification:
        """What the table says of one call, from the bytes that were accepted. An unknown or unparsable call is a WRITE."""
        call = (tool, arguments_raw)
        known = self._known.get(call)
        if known is None:
            known = self._judge(tool or "", arguments_raw)
            self._known.keep(call, known)
        return known

    def typed(self, tool: str | None, built: str | None) -> str | None:
        """Arguments that were built from texts (``Call.built``), each text as the tool's schema wants it."""
        entry = self.table.tools.get(tool or "")
        if entry is None or entry.arguments_schema is None or built is None or len(built) > MAX_ARGUMENTS:
            return built
        texts = arguments(built)
        return built if texts is None else canonical(typed(entry.arguments_schema.document, texts)).decode()

    def limits_of(self, tool: str | None) -> Mapping[str, Limits]:
        """The limits that a call of ``tool`` keeps to: its own, and under ``*`` those of all tools together."""
        entry = self.table.tools.get(tool or "")
        limits = {EVERY_TOOL: self.table.limits, tool or "": None if entry is None else entry.limits}
        return {name: one for name, one in limits.items() if one is not None}

    def _judge(self, tool: str, arguments_raw: str | None) -> Classification:
        if arguments_raw is not None and len(arguments_raw) > MAX_ARGUMENTS:
            # Not even read: the highest class that the tool's calls can have.
            return replace(self.table.classify(tool, None), fault=TOO_LONG)
        return self.table.classify(tool, arguments(arguments_raw))


def other_definition(recorded: str | None, now: str | None) -> bool:
    """Whether the table in force says otherwise of a tool than it did; of what was not recorded, or is not known now, no."""
    return recorded is not None and now is not None and recorded != now


def decided_under(state: StreamState) -> int:
    """The newest version of the table that a call of this stream is known to have been decided under; 0: of none."""
    versions = (
        max(intent.effect_version, 0 if intent.asked is None else intent.asked.effect_version)
        for intent in state.intents.values()
    )
    return max(versions, default=0)


def arguments(raw: str | None) -> Mapping[str, object] | None:
    """The arguments that these bytes spell; None where they are no object in strict JSON."""
    if raw is None:
        return None
    try:
        value = parse(raw)
    except JSONRefused:
        return None
    return value if isinstance(value, dict) else None
