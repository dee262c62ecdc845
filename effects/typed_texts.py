"""Arguments of a form that has texts alone, as the tool's schema wants them. Pure: the same texts and schema, the same values.

A text becomes a number, a truth value, null, an object or an array where the schema of its name allows that and no string,
and the text is exactly one such value in strict JSON, white space around it aside (``True`` and ``False`` count too: the
template of the form writes them so). ``null`` becomes null where the schema allows it, beside a string as well. Anything
else stays the text that it is: nothing is guessed, and the schema says what is wrong with it.
"""

from collections.abc import Iterator, Mapping

from effects.canonical import canonical
from effects.schema_places import referred
from effects.strict_json import JSONRefused, JSONValue, parse

_WHITESPACE = " \t\r\n"
_BY_PYTHON = {"True": "true", "False": "false"}


def typed(schema: Mapping[str, object], texts: Mapping[str, object]) -> dict[str, object]:
    """The arguments with each text as ``schema``, one that is taken (``effects.arguments``), wants it."""
    named: dict[str, list[object]] = {}
    for part in _parts(schema, schema):
        declared = part.get("properties")
        for name, wanted in declared.items() if isinstance(declared, dict) else ():
            named.setdefault(name, []).append(wanted)
    return {
        name: _value(text, _types(schema, named.get(name, ()))) if isinstance(text, str) else text
        for name, text in texts.items()
    }


def _value(text: str, types: frozenset[str]) -> object:
    spelled = text.strip(_WHITESPACE)
    if spelled == "null" and "null" in types:
        return None
    if not types or "string" in types:
        return text
    try:
        value = parse(_BY_PYTHON.get(spelled, spelled))
        canonical(value)
    except JSONRefused:
        return text
    return value if _kinds(value) & types else text


def _types(schema: Mapping[str, object], wanted: "list[object] | tuple[()]") -> frozenset[str]:
    """The types that a value may have; empty where that is not said."""
    found: set[str] = set()
    for one in wanted:
        for part in _parts(schema, one):
            said = part.get("type")
            if isinstance(said, str | list):
                found |= {said} if isinstance(said, str) else set(map(str, said))
            elif isinstance(members := part.get("enum"), list):
                found |= set().union(*map(_kinds, members))
            elif "const" in part:
                found |= _kinds(part["const"])
    return frozenset(found)


def _parts(schema: Mapping[str, object], start: object) -> Iterator[Mapping[str, object]]:
    """A schema and those that judge the same value with it, each once."""
    left, seen = [start], set[int]()
    while left:
        part = left.pop()
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(reference := part.get("$ref"), str):
            left.append(referred(schema, reference))
        for word in ("allOf", "anyOf", "oneOf"):
            left += inner if isinstance(inner := part.get(word), list) else ()


def _kinds(value: JSONValue | object) -> set[str]:
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int | float):
        return {"number", "integer"} if value == int(value) else {"number"}
    if isinstance(value, str):
        return {"string"}
    if value is None:
        return {"null"}
    return {"array"} if isinstance(value, list) else {"object"}
