"""What readers see who look on and do not work: everything but what the effect table masks.

Masks are for a principal that holds neither ``decoder``, ``runtime``, ``operator`` nor ``admin``: for auditors and
reconcilers. The table in force counts. What is masked is a whole tool's call where the table masks any of it: the named
members of arguments and results, and with them whatever would give them away: digests, keys, footprints, evidence. A call of a
tool that the table does not know, or that could not be read, is masked whole. Since a message spells its calls out, such
readers see no text and no ids of tokens while the table masks anything at all.
"""

import json
from collections.abc import Callable
from typing import cast

from effects.masks import MASKED, masked
from effects.strict_json import JSONRefused, parse
from effects.table import EffectTable
from gateway.principal import Principal, Role
from gateway.service.views import View

WORKING = frozenset({Role.DECODER, Role.RUNTIME, Role.OPERATOR, Role.ADMIN})
"""Roles that see everything of their tenant: they decide by it, or have it already."""

_BY_PATH = frozenset({"arguments", "content"})
_EMPTIED = frozenset({"arguments_digest", "idempotency_key"})
_KEPT_WORDS = """
accepted adopted_from at attempt attempts because because_seq binding block branch by byte_end byte_start call_id commit_key
commit_keys cut_at draft_ms drafted_end effect effect_version end epoch expires_at final finished format from head head_after
index inside intent_id kind layer min_margin mode ordinal params_digest parent redacted release retry_at round rule ruling_id seq
source span stale start state status target_source tool tries type unsent verdict verify_ms version weight window worker
writer_epoch
"""
_KEPT = frozenset(_KEPT_WORDS.split())
"""Members that tell nothing of arguments or results."""

ToolOf = Callable[[str], str | None]
"""The tool of an intent by its id."""


def looks_on(principal: Principal) -> bool:
    """Whether masks are for this caller."""
    return not principal.roles & WORKING


class Masks:
    """The masks of one table, for a reader who looks on."""

    def __init__(self, table: EffectTable) -> None:
        """See the class."""
        self._paths = {name: tool.mask for name, tool in table.tools.items()}
        self.any = any(self._paths.values())

    def stream(self, view: View) -> View:
        """A stream as ``stream_view`` shows it."""
        if not self.any:
            return view
        branches = cast("dict[str, View]", view["branches"])
        hidden = {
            name: {k: ([] if k == "ids" else MASKED if k == "text" else v) for k, v in branch.items()}
            for name, branch in branches.items()
        }
        intents = [self.intent(intent) for intent in cast("list[View]", view["intents"])]
        return {**view, "branches": hidden, "intents": intents}

    def intent(self, view: View) -> View:
        """An intent as ``intent_view`` shows it."""
        return self._call(view, cast("str | None", view["tool"]))

    def event(self, view: View, tool_of: ToolOf) -> View:
        """An event as ``event_view`` shows it."""
        kind = str(view["type"])
        if not self.any or kind == "effects.changed":
            return view
        intent_id = view.get("intent_id")
        if intent_id is None:
            return self._spoken(view)
        own = cast("str | None", view.get("tool"))
        return self._call(view, tool_of(str(intent_id)), own if kind == "dispatch.probed" else None)

    def _spoken(self, view: View) -> View:
        """An event of no call: what tokens say is withheld, their number is not."""
        shown: View = {name: value if name in _KEPT else MASKED for name, value in view.items()}
        if isinstance(view.get("tokens"), list):
            shown["tokens"] = [{"text": MASKED} for _ in cast("list[object]", view["tokens"])]
        if isinstance(view.get("token"), dict):
            shown["token"] = {"text": MASKED}
        return shown

    def _call(self, view: View, tool: str | None, probed: str | None = None) -> View:
        paths = self._of(tool)
        if paths == () or not self.any:
            return view
        if paths is not None and probed is not None:
            others = self._of(probed)
            paths = None if others is None else (*paths, *others)
        return {name: self._member(name, value, paths) for name, value in view.items()}

    def _member(self, name: str, value: object, paths: tuple[str, ...] | None) -> object:
        if value is None or name in _KEPT:
            return value
        if name in _EMPTIED:
            return None
        if name == "result":
            return {k: v if k in _KEPT else self._hidden(v, paths) for k, v in cast("View", value).items()}
        if name in _BY_PATH:
            return self._hidden(value, paths)
        if name == "arguments_raw":
            return self._raw(str(value), paths)
        if name == "footprint":
            return {side: None if keys is None else [MASKED] for side, keys in cast("View", value).items()}
        return value if isinstance(value, bool) else MASKED

    def _hidden(self, value: object, paths: tuple[str, ...] | None) -> object:
        # What could not be read may hold anything.
        unread = isinstance(value, dict) and bool(value.keys() & {"raw", "raw_base64"})
        return MASKED if paths is None or unread or isinstance(value, str) else masked(value, paths)

    def _raw(self, raw: str, paths: tuple[str, ...] | None) -> str:
        try:
            return json.dumps(masked(parse(raw), paths)) if paths is not None else MASKED
        except JSONRefused:
            return MASKED

    def _of(self, tool: str | None) -> tuple[str, ...] | None:
        """The paths of a tool; None: all of the call is masked."""
        return None if tool is None else self._paths.get(tool)
