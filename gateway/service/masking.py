"""What readers see who look on and do not work: everything but what the effect table masks.

Masks are for a principal that holds neither ``decoder``, ``runtime``, ``operator`` nor ``admin``: for auditors and
reconcilers. The table in force counts. What is masked is a whole tool's call where the table masks any of it: the named
members of arguments and results, and with them whatever would give them away: digests, keys, footprints, evidence, and what
texts and the caller's own name of the call repeat of them (``effects.masked_texts``). A call of a tool that the table does not
know, or that could not be read, is masked whole. Since a message spells its calls out, such readers see no text and no ids of
tokens while the table masks anything at all.
"""

import json
from collections.abc import Callable
from typing import cast

from effects.masked_texts import Hidden
from effects.masks import MASKED
from effects.strict_json import JSONRefused, parse
from effects.table import EffectTable
from gateway.principal import Principal, Role
from gateway.service.views import View
from ledger.state import Intent

WORKING = frozenset({Role.DECODER, Role.RUNTIME, Role.OPERATOR, Role.ADMIN})
"""Roles that see everything of their tenant: they decide by it, or have it already."""

_BY_PATH = frozenset({"arguments", "arguments_raw", "content", "result", "call_id"})
_EMPTIED = frozenset({"arguments_digest", "idempotency_key"})
_KEPT_WORDS = """
accepted adopted_from at attempt attempts because because_seq binding block branch by byte_end byte_start commit_key
commit_keys cut_at definition draft_ms drafted_end effect effect_version end epoch expires_at final finished format from head
head_after index inside intent_id kind layer min_margin mode ordinal params_digest parent redacted release retry_at round rule
ruling_id seq source span stale start state status target_source tool tries type unsent verdict verify_ms version weight
window worker writer_epoch
"""
_KEPT = frozenset(_KEPT_WORDS.split())
"""Members that tell nothing of arguments or results."""

Paths = tuple[str, ...] | None

IntentOf = Callable[[str], Intent | None]
"""An intent by its id."""

_ALL = ("$.*",)
"""Masks of a call that is masked whole."""


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
        return self._call(view, self._of(cast("str | None", view["tool"])), None)

    def event(self, view: View, intent_of: IntentOf) -> View:
        """An event as ``event_view`` shows it."""
        kind = str(view["type"])
        if not self.any or kind == "effects.changed":
            return view
        intent_id = view.get("intent_id")
        if intent_id is None:
            return self._spoken(view)
        intent = intent_of(str(intent_id))
        paths = self._of(None if intent is None else intent.tool)
        if kind == "dispatch.probed":
            others = self._of(cast("str | None", view.get("tool")))
            paths = None if paths is None or others is None else (*paths, *others)
        return self._call(view, paths, intent)

    def _spoken(self, view: View) -> View:
        """An event of no call: what tokens say is withheld, their number is not."""
        shown: View = {name: value if name in _KEPT else MASKED for name, value in view.items()}
        if isinstance(view.get("tokens"), list):
            shown["tokens"] = [{"text": MASKED} for _ in cast("list[object]", view["tokens"])]
        if isinstance(view.get("token"), dict):
            shown["token"] = {"text": MASKED}
        return shown

    def _call(self, view: View, paths: Paths, intent: Intent | None) -> View:
        """``intent``: what is known of the call beside what is shown."""
        if paths == () or not self.any:
            return view
        call = _Call(view, paths, intent) if view.keys() & _BY_PATH else None
        return {name: _member(name, value, call) for name, value in view.items()}

    def _of(self, tool: str | None) -> Paths:
        """The paths of a tool; None: all of the call is masked."""
        return None if tool is None else self._paths.get(tool)


class _Call:
    """What is shown of one call."""

    def __init__(self, view: View, paths: Paths, intent: Intent | None) -> None:
        raw = cast("str | None", view.get("arguments_raw")) or (
            None if intent is None else intent.arguments_raw
        )
        arguments = view.get("arguments") or _read(raw)
        results = [view.get("content"), cast("View", view.get("result") or {}).get("content")]
        if intent is not None:
            results.append(intent.result_content)
        self._whole = paths is None
        self._readable = arguments is not None
        self._hidden = Hidden(_ALL if paths is None else paths, [arguments], results)

    def member(self, name: str, value: object) -> object:
        """A member that holds arguments or results, or names the call."""
        if name == "call_id":
            return self._hidden.identifier(str(value)) if self._readable else MASKED
        if name == "result":
            return {k: v if k in _KEPT else self._answer(v) for k, v in cast("View", value).items()}
        if name == "arguments_raw":
            read = _read(str(value))
            return MASKED if self._whole or read is None else json.dumps(self._hidden.arguments(read))
        if name == "content":
            return self._answer(value)
        return MASKED if self._whole or isinstance(value, str) else self._hidden.arguments(value)

    def _answer(self, value: object) -> object:
        # What could not be read may hold anything.
        unread = isinstance(value, dict) and bool(value.keys() & {"raw", "raw_base64"})
        prose = isinstance(value, str) and not value.lstrip().startswith(("{", "["))
        return MASKED if self._whole or unread or prose else self._hidden.result(value)


def _member(name: str, value: object, call: _Call | None) -> object:
    if value is None or name in _KEPT:
        return value
    if name in _EMPTIED:
        return None
    if call is not None and name in _BY_PATH:
        return call.member(name, value)
    if name == "asked":
        return {part: _member(part, said, None) for part, said in cast("View", value).items()}
    if name == "footprint":
        return {side: _keys(side, keys) for side, keys in cast("View", value).items()}
    if name == "upstream" and isinstance(value, dict):
        return dict.fromkeys(value, MASKED)
    return value if isinstance(value, bool) else MASKED


def _keys(side: str, keys: object) -> object:
    if keys is None:
        return None
    return MASKED if side == "upstream" else [MASKED]


def _read(raw: str | None) -> object:
    try:
        return None if raw is None else parse(raw)
    except JSONRefused:
        return None
