"""Members of decoded JSON, by type. What is absent or null reads as nothing; any other type is an ``UnreadableEvent``."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from gateway.hosted.errors import ProviderFailed, UnreadableEvent

Json: TypeAlias = Mapping[str, object]

MOST_SAID = 1000
"""Characters of a provider's own words that are passed on."""


def text_of(source: Json, name: str) -> str:
    """A text; empty where there is none."""
    value = source.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UnreadableEvent(f"{name} is no text")
    return value


def object_of(source: Json, name: str) -> Json:
    """An object; empty where there is none."""
    value = source.get(name)
    if value is None:
        return {}
    return as_object(value, name)


def as_object(value: object, name: str) -> Json:
    """``value`` as an object."""
    if not isinstance(value, Mapping):
        raise UnreadableEvent(f"{name} is no object")
    return value


def objects_of(source: Json, name: str) -> list[Json]:
    """The objects of an array; none where there is no array."""
    value = source.get(name)
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise UnreadableEvent(f"{name} is no array")
    return [as_object(element, name) for element in value]


def failure_of(said: object) -> ProviderFailed:
    """What a provider says of its failure: a text, or an object with ``message`` and ``type`` or ``code``.

    No other shape is refused: that the stream failed is true in any case.
    """
    if isinstance(said, str):
        return ProviderFailed("", said[:MOST_SAID])
    told = said if isinstance(said, Mapping) else {}
    # An event of a failure is itself of the type "error", and says no more by that.
    kinds = [kind for kind in (told.get("type"), told.get("code")) if isinstance(kind, str | int)]
    kind = next((str(kind) for kind in kinds if kind not in ("", "error")), "")
    text = told.get("message")
    return ProviderFailed(kind[:MOST_SAID], text[:MOST_SAID] if isinstance(text, str) else "")


def index_of(source: Json, name: str) -> int | None:
    """A number that places something; None where it is missing."""
    value = source.get(name)
    if value is not None and not isinstance(value, int):
        raise UnreadableEvent(f"{name} is no index")
    return value
