"""The places of a JSON Schema where a schema stands, and what may lead from one to another."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from effects.document import place
from effects.schema_drafts import Draft
from effects.strict_json import JSONValue

Pointer = tuple[str | int, ...]
"""A place in a document, from its root."""

# Of all drafts; a word that a draft does not know is none of its words, or not taken. "some": one, or a list of them.
_IN_PLACE = {"allOf": "list", "anyOf": "list", "oneOf": "list"} | dict.fromkeys(
    ("not", "if", "then", "else"), "one"
)
_IN_PLACE |= {"dependentSchemas": "map", "dependencies": "map"}
_INWARD = {"prefixItems": "list", "items": "some", "properties": "map", "patternProperties": "map"}
_INWARD |= dict.fromkeys(
    (
        *("additionalItems", "contains", "additionalProperties", "propertyNames"),
        *("unevaluatedItems", "unevaluatedProperties", "contentSchema"),
    ),
    "one",
)
_STORED = {"$defs": "map", "definitions": "map"}
_KINDS = _IN_PLACE | _INWARD | _STORED


@dataclass(slots=True)
class SchemaPlaces:
    """What a walk over a schema finds. ``names``: those that it declares for members of a value.

    ``leads``: from each schema to those that judge the same value, references among them.
    """

    leads: dict[Pointer, list[Pointer]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    patterns: list[str] = field(default_factory=list)
    references: list[tuple[Pointer, Pointer]] = field(default_factory=list)
    words: frozenset[str] = frozenset()


def check_references(document: dict[str, JSONValue], draft: Draft) -> SchemaPlaces:
    """Walk a valid schema of ``draft``. ValueError where it uses what is not taken (``effects.arguments``), with the place."""
    places = SchemaPlaces()
    left: list[tuple[Pointer, JSONValue]] = [((), document)]
    while left:
        at, schema = left.pop()
        places.leads[at] = []
        if isinstance(schema, dict):
            _note(places, at, schema, draft)
            left += [(inner, found) for _, inner, found in _inner(at, schema)]
    for source, target in places.references:
        if target not in places.leads:
            raise ValueError(f"{_told(source)}.$ref: leads to no schema of this one")
        places.leads[source].append(target)
    if "patternProperties" in places.words and places.words & {"unevaluatedProperties", "unevaluatedItems"}:
        raise ValueError("patternProperties and unevaluated… are not taken together")
    _refuse_circles(places.leads)
    return places


def referred(document: Mapping[str, object], reference: str) -> object:
    """What ``reference`` names in a schema that ``check_references`` took."""
    found: object = document
    for step in _target((), reference):
        found = found[step]  # type: ignore[index]
    return found


def _note(places: SchemaPlaces, at: Pointer, schema: dict[str, JSONValue], draft: Draft) -> None:
    refused = draft.not_taken & schema.keys()
    if at and "$schema" in schema:
        refused |= {"$schema"}
    if refused:
        raise ValueError(f"{_told((*at, min(refused)))}: not taken here")
    places.words |= schema.keys()
    reference = schema.get("$ref")
    if reference is None or not draft.reference_alone:
        places.leads[at] = [inner for word, inner, _ in _inner(at, schema) if word in _IN_PLACE]
    if isinstance(reference, str):
        places.references.append((at, _target(at, reference)))
    for word in ("properties", "dependentSchemas", "dependencies"):
        declared = schema.get(word)
        places.names |= declared.keys() if isinstance(declared, dict) else frozenset()
    if isinstance(pattern := schema.get("pattern"), str):
        places.patterns.append(pattern)
    if isinstance(by_pattern := schema.get("patternProperties"), dict):
        places.patterns += by_pattern


def _inner(at: Pointer, schema: dict[str, JSONValue]) -> Iterator[tuple[str, Pointer, JSONValue]]:
    for word, value in schema.items():
        kind = _KINDS.get(word)
        if kind in ("list", "some") and isinstance(value, list):
            yield from ((word, (*at, word, index), found) for index, found in enumerate(value))
        elif kind in ("one", "some"):
            yield word, (*at, word), value
        elif kind == "map" and isinstance(value, dict):
            # A list there is one of names, of ``dependencies``.
            yield from (
                (word, (*at, word, name), found)
                for name, found in value.items()
                if not isinstance(found, list)
            )


def _target(at: Pointer, reference: str) -> Pointer:
    """The place that a reference names (RFC 6901). ValueError for one that leads elsewhere."""
    if reference != "#" and not reference.startswith("#/"):
        raise ValueError(
            f"{_told(at)}.$ref: only places of this schema (#/…) are referred to; nothing is fetched"
        )
    steps = [step.replace("~1", "/").replace("~0", "~") for step in unquote(reference[2:]).split("/")]
    pointer: list[str | int] = []
    for step in steps if reference != "#" else []:
        in_list = bool(pointer) and _KINDS.get(str(pointer[-1])) in ("list", "some")
        pointer.append(int(step) if in_list and step.isdecimal() and len(step) < 9 else step)
    return tuple(pointer)


def _refuse_circles(leads: dict[Pointer, list[Pointer]]) -> None:
    """A schema that comes back to itself over the same value never ends."""
    done: set[Pointer] = set()
    for start in leads:
        path: dict[Pointer, Iterator[Pointer]] = {} if start in done else {start: iter(leads[start])}
        while path:
            at = next(reversed(path))
            following = next(path[at], None)
            if following is None:
                done.add(at)
                del path[at]
            elif following in path:
                raise ValueError(f"{_told(following)}: comes back to itself without going into the value")
            elif following not in done:
                path[following] = iter(leads[following])


def _told(pointer: Pointer) -> str:
    told = ""
    for step in pointer:
        told = place(told, step)
    return told or "schema"
