"""Of what kind the members of a payload are that is read, by name, wherever they occur. Pure.

What the ledger writes itself is always of its kind. Whoever may INSERT events may write anything, and a text where a number
should stand would fail whoever uses it, far from here. So a payload with a member of another kind is none of ours; auditors'
views look in the same way at what they count with (``ledger.told_payload``).
"""

from collections.abc import Callable, Mapping
from typing import Any

from effects.strict_json import MAX_INTEGER
from ledger.events import Payload

Kind = Callable[[Any], bool]


def fits(payload: Payload) -> bool:
    """Whether each member of a payload, read from JSON, is of the kind that it is of everywhere."""
    return all(kind(payload[name]) for name, kind in _KINDS.items() if name in payload)


def _number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_INTEGER


def _text(value: Any) -> bool:
    return type(value) is str


def _text_or_null(value: Any) -> bool:
    return value is None or type(value) is str


def _boolean(value: Any) -> bool:
    return type(value) is bool


def _numbers(value: Any) -> bool:
    return type(value) is list and all(map(_number, value))


def _texts(value: Any) -> bool:
    return type(value) is list and all(map(_text, value))


def _object(value: Any) -> bool:
    return type(value) is dict


def _object_or_null(value: Any) -> bool:
    return value is None or type(value) is dict


def _binding(value: Any) -> bool:
    # Of a stream it says what it is bound to; of a ruling it is a name.
    return _text(value) or (_object(value) and _text(value.get("kind")))


def _token(value: Any) -> bool:
    if type(value) is not dict:
        return False
    id_ = value.get("id")
    return (
        type(value.get("text")) is str
        and (id_ is None or type(id_) is int)
        and _text_or_null(value.get("drafter"))
    )


def _tokens(value: Any) -> bool:
    return type(value) is list and all(map(_token, value))


def _remains(value: Any) -> bool:
    return _object(value) and all(_object(left) and fits(left) for left in value.values())


_NUMBERS = (
    "accepted", "attempt", "because_seq", "block_ordinal", "byte_end", "byte_start", "closed_seq", "effect_version", "end",
    "epoch", "ordinal", "round", "start", "tries", "version", "writer_epoch",
)  # fmt: skip
_TEXTS = (
    "because", "branches_mode", "by", "effect", "format", "from", "intent_id", "release", "status", "verdict",
)  # fmt: skip
_TEXTS_OR_NULL = (
    "approval", "arguments_digest", "arguments_raw", "call_id", "definition", "expires_at", "fork_of", "idempotency_key",
    "note", "parent", "problem", "reason", "retry_at", "tool", "traceparent", "worker",
)  # fmt: skip

_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(_NUMBERS, _number),
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(_TEXTS_OR_NULL, _text_or_null),
    "binding": _binding,
    "branches": _texts,
    "detail": _object_or_null,
    "footprint": _object_or_null,
    "inside": _boolean,
    "intents": _texts,
    "labels": _object_or_null,
    "remains": _remains,
    "seqs": _numbers,
    "span": _numbers,
    "token": lambda value: value is None or _token(value),
    "tokens": _tokens,
    "unsent": _boolean,
    "upstream": _object_or_null,
}
