"""Definitions of a server's tools, and which of them are what the operator has seen.

A tool is its definition: what the model was told that it does, and what an operator judged. A server that defines it
otherwise later offers another tool under the old name. Such a tool is in quarantine: its calls are not sent, with the code
``definition_changed``, until a table with the new digest is applied.

A server without ``pins`` is trusted at first sight: each tool is held to the first definition that this process saw.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock

import structlog

from effects.canonical import digest
from effects.strict_json import JSONRefused

DEFINING = ("name", "description", "inputSchema", "outputSchema", "annotations")
"""Members of a tool's listing that its digest covers."""

CHANGED = "definition_changed"
"""Code of a call whose tool is in quarantine."""

_log = structlog.get_logger(__name__)


def definition_digest(tool: Mapping[str, object]) -> str:
    """``sha256:<hex>`` of the canonical JSON (RFC 8785) of what defines a tool; absent and null members are left out.

    Raises ``JSONRefused`` for a definition that two readers could read differently.
    """
    return digest({name: tool[name] for name in DEFINING if tool.get(name) is not None})


def digests(tools: Iterable[Mapping[str, object]]) -> dict[str, str | None]:
    """The digest of each listed tool by its name; None where it has none, or two tools share the name."""
    found: dict[str, str | None] = {}
    for tool in tools:
        name = tool.get("name")
        if not isinstance(name, str):
            continue
        try:
            found[name] = None if name in found else definition_digest(tool)
        except JSONRefused:
            found[name] = None
    return found


@dataclass(frozen=True, slots=True)
class Seen:
    """A tool in quarantine. ``pinned``: the digest it is held to; ``found``: what the server lists, None: nothing."""

    tenant: str
    server: str
    tool: str
    pinned: str | None
    found: str | None

    @property
    def told(self) -> str:
        """One line for a person."""
        now = "is not listed or cannot be read" if self.found is None else f"is {self.found}"
        return f"server {self.server}, tool {self.tool}: pinned {self.pinned or 'nothing'}, now {now}"


class Quarantine:
    """The tools that this process does not call at present. Safe to share among threads."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str, str], Seen] = {}
        self._first: dict[tuple[str, str, str], str] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        """How many there are."""
        return len(self._held)

    def list(self) -> list[Seen]:
        """All of them."""
        with self._lock:
            return sorted(self._held.values(), key=lambda seen: (seen.tenant, seen.server, seen.tool))

    def judge(
        self,
        place: tuple[str, str],
        tool: str,
        found: str | None,
        pins: Mapping[str, str] | None,
    ) -> Seen | None:
        """Compare what is ``found`` with what is pinned; None: the tool may be called. ``place``: tenant and alias."""
        key = (*place, tool)
        with self._lock:
            if pins is not None:
                pinned = pins.get(tool)
            else:
                pinned = self._first.get(key) if found is None else self._first.setdefault(key, found)
            if found is not None and pinned == found:
                if self._held.pop(key, None) is not None:
                    _log.info("tool_out_of_quarantine", server=place[1], tool=tool)
                return None
            seen = Seen(*place, tool, pinned, found)
            news = self._held.get(key) != seen
            self._held[key] = seen
        if news:
            _log.error(CHANGED, tenant=place[0], server=place[1], tool=tool, pinned=pinned, found=found)
        return seen
