"""The schema of a tool's arguments, checked on what was accepted before anything is sent.

JSON Schema of the draft that it names, 2020-12 where it names none (``effects.schema_drafts``). An operator writes it,
or a server did that nobody here trusts, so what could reach out, never end or cost without bound is refused when the table
is read:

- references lead to a place of the same schema (``#/$defs/item``) and never round in a circle without going into the
  value; ``$id``, ``$anchor``, ``$dynamicRef`` and their like are not taken, and nothing is ever fetched;
- patterns run on an engine without backtracking (Rust's ``regex``), which has no look-around and no back-references:
  one match costs time in proportion to the text;
- words of other drafts that the schema's own would silently pass over (``dependencies`` in 2020-12, ``if`` in draft-04)
  are not taken.

``format`` says nothing here, and ``default`` adds nothing: arguments are sent as they were accepted.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self, cast

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from pydantic_core import SchemaError as BadPattern
from pydantic_core import SchemaValidator, core_schema

from effects.canonical import canonical
from effects.document import place
from effects.schema_drafts import DRAFTS, draft_of
from effects.schema_places import check_references

MAX_ARGUMENTS = 1024 * 1024
"""Longest arguments, in characters, that are sent to any tool."""

MAX_STEPS = 50_000
"""Keywords applied to values in one check, at most."""

MAX_PATTERN = 1000
"""Longest pattern, in characters."""

MAX_TOLD = 200
"""Longest path and reason of a fault, in characters."""

_steps: ContextVar[list[int]] = ContextVar("steps")


@dataclass(frozen=True, slots=True)
class ArgumentFault:
    """The first thing that is wrong. ``path``: its place in the arguments, empty for them as a whole.

    Neither holds a value of the arguments, nor a name that is not the schema's own (``*`` stands for such a name).
    """

    path: str
    because: str


TOO_LONG = ArgumentFault("", f"longer than {MAX_ARGUMENTS} characters")


class _TooMuch(Exception):
    """The check came to its end of steps."""


@dataclass(frozen=True, slots=True)
class ArgumentSchema:
    """A compiled schema; equal to another of the same document."""

    document: Mapping[str, object]
    _validator: Validator = field(compare=False, repr=False)
    _names: frozenset[str] = field(compare=False, repr=False)

    @classmethod
    def compile(cls, document: object) -> Self:
        """Compile ``document``, a JSON value. ValueError where it is no object, no schema, or not taken (module)."""
        if not isinstance(document, dict):
            raise ValueError("a schema is a JSON object")
        draft = draft_of(document)
        try:
            cast(Any, draft.library).check_schema(document, format_checker=FormatChecker(()))
        except SchemaError as error:
            place_of_it = _path(error.absolute_path, None) or "schema"
            raise ValueError(f"{place_of_it}: no JSON Schema {draft.name}") from None
        except RecursionError:
            raise ValueError("a schema nested too deeply") from None
        places = check_references(document, draft)
        for pattern in places.patterns:
            _pattern(pattern)
        # In canonical order, so that the first fault is the same wherever the table is read from.
        return cls(document, _CHECKERS[draft.name](json.loads(canonical(document))), places.names)

    def fault(self, arguments: Mapping[str, object]) -> ArgumentFault | None:
        """What is wrong with the arguments (JSON values), None if nothing is. Never raises on account of them."""
        budget = _steps.set([MAX_STEPS])
        try:
            error = next(iter(self._validator.iter_errors(cast(Any, arguments))), None)
        except _TooMuch:
            return ArgumentFault("", f"checking them takes more than {MAX_STEPS} steps")
        except RecursionError:
            return ArgumentFault("", "nested too deeply for the schema")
        finally:
            _steps.reset(budget)
        if error is None:
            return None
        return ArgumentFault(_path(error.absolute_path, self._names), _because(error))


def _path(steps: Iterable[str | int], names: frozenset[str] | None) -> str:
    path = ""
    for step in steps:
        known = names is None or isinstance(step, int) or step in names
        path = place(path, step) if known else f"{path}[*]"
    return path[:MAX_TOLD]


def _because(error: ValidationError) -> str:
    """The rule that is broken, in the schema's own words: the library's message shows the value as well."""
    if error.validator is None:
        return "the schema allows nothing there"
    if error.validator == "required":
        there = cast("dict[str, object]", error.instance)
        lacking = [name for name in cast("list[str]", error.validator_value) if name not in there]
        return f"lacks {', '.join(map(repr, lacking))}"[:MAX_TOLD]
    if (
        error.validator in ("additionalProperties", "unevaluatedProperties")
        and error.validator_value is False
    ):
        return "has names that the schema does not know"
    rule = json.dumps(error.validator_value, ensure_ascii=False)
    return f"does not meet {error.validator}: {rule}"[:MAX_TOLD]


@lru_cache(maxsize=1024)
def _pattern(source: str) -> SchemaValidator:
    if len(source) > MAX_PATTERN:
        raise ValueError(f"a pattern has at most {MAX_PATTERN} characters")
    try:
        return SchemaValidator(core_schema.str_schema(pattern=source, regex_engine="rust-regex"))
    except BadPattern:
        raise ValueError(
            f"the pattern {source[:80]!r} is not taken: look-around and back-references cost without bound"
        ) from None


def _matches(source: str, text: str) -> bool:
    return _pattern(source).isinstance_python(text)


Errors = Iterator[ValidationError]
Keyword = Callable[[Any, Any, Any, Any], Iterable[ValidationError] | None]


def _counted(keyword: Keyword) -> Keyword:
    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> Iterable[ValidationError] | None:
        left = _steps.get()
        left[0] -= 1
        if left[0] < 0:
            raise _TooMuch
        return keyword(validator, value, instance, schema)

    return apply


def _check_pattern(_validator: Any, source: str, instance: Any, _schema: Any) -> Errors:
    if isinstance(instance, str) and not _matches(source, instance):
        yield ValidationError("does not match the pattern")


def _check_pattern_properties(
    validator: Any, rules: Mapping[str, Any], instance: Any, _schema: Any
) -> Errors:
    if isinstance(instance, dict):
        for source, subschema in rules.items():
            for name, value in instance.items():
                if _matches(source, name):
                    yield from validator.descend(value, subschema, path=name, schema_path=source)


def _check_additional(validator: Any, rule: Any, instance: Any, schema: Mapping[str, Any]) -> Errors:
    if not isinstance(instance, dict):
        return
    declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name, value in instance.items():
        if name in declared or any(_matches(source, name) for source in patterns):
            continue
        if rule is False:
            yield ValidationError("a name that is not declared")
        else:
            yield from validator.descend(value, rule, path=name)


def _check_unique(_validator: Any, wanted: bool, instance: Any, _schema: Any) -> Errors:
    # By canonical form: comparing each with each would cost the square.
    if wanted and isinstance(instance, list) and len({canonical(item) for item in instance}) < len(instance):
        yield ValidationError("has equal elements")


_OWN: Mapping[str, Keyword] = {
    "pattern": _check_pattern,
    "patternProperties": _check_pattern_properties,
    "additionalProperties": _check_additional,
    "uniqueItems": _check_unique,
}
# That of 2019-09 takes the words of a subschema for names of members.
_UNEVALUATED = {"unevaluatedProperties": Draft202012Validator.VALIDATORS["unevaluatedProperties"]}


def _checker(library: Any) -> type[Validator]:
    own = {**_UNEVALUATED, **_OWN}
    words = {name: _counted(own.get(name, keyword)) for name, keyword in library.VALIDATORS.items()}
    return cast("type[Validator]", extend(library, words))  # type: ignore[no-untyped-call]


_CHECKERS: Mapping[str, type[Validator]] = {draft.name: _checker(draft.library) for draft in DRAFTS.values()}
