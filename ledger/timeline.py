"""The timeline of one turn: its events as lines that a person can read, in order. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from effects.canonical import canonical
from effects.strict_json import JSONRefused
from effects.wording import counted
from ledger.events import Event, EventType

LONGEST = 80
"""Most characters of a text, arguments or an answer that a line shows."""


@dataclass(frozen=True, slots=True)
class Line:
    """One event. ``kind``: what it is about (``stream``, ``tokens``, ``block``, ``intent``, ``dispatch``, ``effects``)."""

    seq: int
    at: datetime
    type: EventType
    kind: str
    branch: str | None
    intent_id: str | None
    text: str

    def to_json(self) -> dict[str, str | int | None]:
        """Its fields as JSON values; ``at`` in ISO 8601."""
        return {
            "seq": self.seq,
            "at": self.at.isoformat(),
            "type": self.type.value,
            "kind": self.kind,
            "branch": self.branch,
            "intent_id": self.intent_id,
            "text": self.text,
        }


def timeline(events: Iterable[Event]) -> list[Line]:
    """A line for each event of one stream, in the order given. Redacted events say that they are, and so do those that
    are not to be understood (``stream_unreadable``).

    Texts of models and tools are quoted; no control character of theirs reaches the line.
    """
    told = _Told({}, {})
    return [_line(event, told) for event in events]


@dataclass(frozen=True, slots=True)
class _Told:
    """What earlier lines have said: calls by intent id, heads by branch."""

    calls: dict[str, str]
    heads: dict[str, int]

    def call(self, event: Event) -> str:
        return self.calls.get(event.intent_id or "", event.intent_id or "a call")


Body = Mapping[str, Any]
Teller = Callable[[Event, Body, _Told], str]


def _line(event: Event, told: _Told) -> Line:
    body = cast("Body", event.payload)
    kind = event.type.value.partition(".")[0]
    text = _text(event, body, told)
    if event.branch is not None and event.head_after is not None:
        told.heads[event.branch] = event.head_after
    return Line(
        event.seq,
        event.at,
        event.type,
        "tokens" if kind == "drafts" else kind,
        event.branch,
        event.intent_id,
        text,
    )


def _text(event: Event, body: Body, told: _Told) -> str:
    unreadable = f"{event.type.value} (stream_unreadable)"
    if event.unreadable:
        return unreadable
    if event.redacted or not body:
        return f"{event.type.value} (redacted)"
    try:
        return _TELLERS[event.type](event, body, told)
    except (LookupError, ValueError, TypeError, AttributeError):
        # Written past the ledger; the rest of the story is told all the same.
        return unreadable


def _opened(_event: Event, body: Body, _told: _Told) -> str:
    branches = ", ".join(map(_plain, body.get("branches", ())))
    calls = f"{_plain(body.get('format'))} calls {_plain(body.get('from'))}"
    return f"opened: {calls}, binding {_plain(body.get('binding', {}).get('kind'))}, branches {branches}"


def _taken_over(_event: Event, body: Body, _told: _Told) -> str:
    return f"taken over by a new writer, epoch {body.get('writer_epoch')}"


def _drafted(_event: Event, body: Body, _told: _Told) -> str:
    tokens = body.get("tokens", ())
    start = body.get("start", 0)
    drafters = dict.fromkeys(_plain(t["drafter"]) for t in tokens if t.get("drafter") is not None)
    by = f" by {', '.join(drafters)}" if drafters else ""
    span = f"[{start}, {start + len(tokens)})"
    return f"drafted {counted(len(tokens), 'token')} {span} round {body.get('round')}{by}: {_spelled(tokens)}"


def _ruled(event: Event, body: Body, _told: _Told) -> str:
    said = f"ruled [{body.get('start')}, {body.get('end')}): {body.get('accepted')} accepted"
    if event.cut_at is not None:
        said += f", cut at {event.cut_at}"
    own = body.get("token")
    return said if own is None else f"{said}, own token {_quoted(own.get('text'))}"


def _accepted(event: Event, body: Body, told: _Told) -> str:
    tokens = body.get("tokens", ())
    end = event.head_after
    start = told.heads.get(event.branch or "", 0) if end is None else end - len(tokens)
    return f"accepted {counted(len(tokens), 'token')} [{start}, {start + len(tokens)}): {_spelled(tokens)}"


def _drafts_voided(_event: Event, body: Body, _told: _Told) -> str:
    return f"drafts [{body.get('start')}, {body.get('end')}) voided: {_plain(body.get('because'))}"


def _finished(_event: Event, body: Body, _told: _Told) -> str:
    return f"finished: {_plain(body.get('reason'))}"


def _block(word: str) -> Teller:
    def tell(_event: Event, body: Body, _told: _Told) -> str:
        because = body.get("because")
        why = "" if because is None else f": {_plain(because)}"
        return f"block {_span(body)} of round {body.get('round')} {word}{why}"

    return tell


def _held(event: Event, body: Body, told: _Told) -> str:
    if event.intent_id in told.calls:
        return f"held {told.call(event)} again: {_plain(body.get('reason'))}"
    tool, problem = body.get("tool"), body.get("problem")
    told.calls[str(event.intent_id)] = "unparsable call" if tool is None else _plain(tool)
    said = f"held {_plain(body.get('effect'))} {told.call(event)}"
    if body.get("arguments_raw") is not None:
        said += f" {_cut(body['arguments_raw'])}"
    return f"{said} span {_span(body)}" + ("" if problem is None else f" ({_plain(problem)})")


def _released(event: Event, body: Body, told: _Told) -> str:
    early = body.get("release") == "early"
    how = "early, on drafts" if early else "on accepted tokens"
    return f"released {told.call(event)} as {_plain(body.get('effect'))} {how}"


def _ended(word: str) -> Teller:
    def tell(event: Event, body: Body, told: _Told) -> str:
        return f"{word} {told.call(event)}: {_plain(body.get('reason'))}"

    return tell


def _awaiting(event: Event, body: Body, told: _Told) -> str:
    return f"{told.call(event)} awaits approval: {_plain(body.get('because'))}"


def _approved(event: Event, body: Body, told: _Told) -> str:
    who, note = _plain(body.get("by")), body.get("note")
    return f"{told.call(event)} approved by {who}" + ("" if note is None else f": {_quoted(note)}")


def _denied(event: Event, body: Body, told: _Told) -> str:
    return f"{told.call(event)} denied by {_plain(body.get('by'))}: {_quoted(body.get('reason'))}"


def _adopted(event: Event, body: Body, told: _Told) -> str:
    source, attempt = _plain(body.get("from")), body.get("attempt")
    return f"{told.call(event)} adopts the answer of {source}, attempt {attempt}"


def _probed(event: Event, body: Body, told: _Told) -> str:
    attempt, verdict = body.get("attempt"), _plain(body.get("verdict"))
    return f"{told.call(event)} attempt {attempt} probed: {verdict}"


def _call_id(event: Event, body: Body, told: _Told) -> str:
    return f"{told.call(event)} is called {_quoted(body.get('call_id'))} by its provider"


def _stale(event: Event, body: Body, told: _Told) -> str:
    return f"{told.call(event)} is stale: overtaken at seq {body.get('because_seq')}"


def _final(event: Event, body: Body, told: _Told) -> str:
    return f"{told.call(event)} is final, with the answer of attempt {body.get('attempt')}"


def _started(event: Event, body: Body, told: _Told) -> str:
    who = _plain(body.get("worker"))
    return f"dispatched {told.call(event)} attempt {body.get('attempt')} by {who}"


def _outcome(word: str) -> Teller:
    def tell(event: Event, body: Body, told: _Told) -> str:
        unsent = ", certainly not sent" if body.get("unsent") is True else ""
        content = body.get("content")
        answer = "" if content is None else f": {_json(content)}"
        attempt = f"attempt {body.get('attempt')}"
        return f"{told.call(event)} {attempt} {word} {_plain(body.get('status'))}{unsent}{answer}"

    return tell


def _expired(event: Event, body: Body, told: _Told) -> str:
    because = _plain(body.get("because"))
    return f"{told.call(event)} attempt {body.get('attempt')} lost ({because}), may be sent again"


def _in_doubt(event: Event, body: Body, told: _Told) -> str:
    return f"{told.call(event)} attempt {body.get('attempt')} in doubt: {_plain(body.get('because'))}"


def _resolved(event: Event, body: Body, told: _Told) -> str:
    who, why = _plain(body.get("by")), _quoted(body.get("reason"))
    return f"{told.call(event)} resolved as {_plain(body.get('status'))} by {who}: {why}"


def _effects(_event: Event, body: Body, _told: _Told) -> str:
    return f"effect table version {body.get('version')} in force, by {_plain(body.get('by'))}"


def _redacted(event: Event, body: Body, told: _Told) -> str:
    gone = len(body.get("seqs", ()))
    who, why = _plain(body.get("by")), _quoted(body.get("reason"))
    return f"{told.call(event)} redacted, {gone} {'payload' if gone == 1 else 'payloads'}, by {who}: {why}"


_TELLERS: Mapping[EventType, Teller] = {
    EventType.STREAM_OPENED: _opened,
    EventType.STREAM_TAKEN_OVER: _taken_over,
    EventType.TOKENS_DRAFTED: _drafted,
    EventType.TOKENS_RULED: _ruled,
    EventType.TOKENS_ACCEPTED: _accepted,
    EventType.DRAFTS_VOIDED: _drafts_voided,
    EventType.STREAM_FINISHED: _finished,
    EventType.BLOCK_CLEARED: _block("cleared"),
    EventType.BLOCK_VOIDED: _block("voided"),
    EventType.INTENT_HELD: _held,
    EventType.INTENT_RELEASED: _released,
    EventType.INTENT_REFUSED: _ended("refused"),
    EventType.INTENT_VOIDED: _ended("voided"),
    EventType.INTENT_AWAITING_APPROVAL: _awaiting,
    EventType.INTENT_APPROVED: _approved,
    EventType.INTENT_DENIED: _denied,
    EventType.INTENT_ADOPTED: _adopted,
    EventType.INTENT_CALL_ID: _call_id,
    EventType.INTENT_STALE: _stale,
    EventType.INTENT_FINAL: _final,
    EventType.DISPATCH_STARTED: _started,
    EventType.DISPATCH_SETTLED: _outcome("settled"),
    EventType.DISPATCH_EXPIRED: _expired,
    EventType.DISPATCH_IN_DOUBT: _in_doubt,
    EventType.DISPATCH_PROBED: _probed,
    EventType.DISPATCH_RESOLVED: _resolved,
    EventType.DISPATCH_LATE: _outcome("answered late,"),
    EventType.EFFECTS_CHANGED: _effects,
    EventType.PAYLOAD_REDACTED: _redacted,
}


def _span(body: Body) -> str:
    start, end = body.get("span") or ("?", "?")
    return f"[{start}, {end})"


def _spelled(tokens: Iterable[Body]) -> str:
    return _quoted("".join(str(token.get("text", "")) for token in tokens))


def _quoted(text: object) -> str:
    return '"' + _cut(str(text), quote=True) + '"'


def _json(value: object) -> str:
    try:
        return _cut(canonical(value).decode())
    except JSONRefused:
        return _cut(repr(value))


def _cut(text: str, *, quote: bool = False) -> str:
    """At most ``LONGEST`` characters of ``text``, each of them printable."""
    shown = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return "".join(_printable(char, quote=quote) for char in shown)


def _printable(char: str, *, quote: bool) -> str:
    if quote and char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    return char.encode("unicode_escape").decode()


def _plain(value: object) -> str:
    return _cut(str(value))
