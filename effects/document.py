"""The text of an effect table: YAML that means one JSON object and nothing else.

YAML lets a name stand twice, a few bytes of aliases stand for gigabytes, and ``on`` stand for true where a
name was meant. Whatever two readers could read differently, or a reader would choke on, is refused here.
"""

import math
import re
from collections.abc import Hashable
from typing import cast

import yaml

from effects.errors import EffectTableRefused
from effects.strict_json import MAX_INTEGER, JSONValue

MAX_CHARACTERS = 512 * 1024
"""Longest text that is read."""

MAX_DEPTH = 24
"""Deepest nesting of mappings and sequences that is read."""


def read_document(text: str) -> dict[str, JSONValue]:
    """The JSON object that ``text`` means.

    Raises ``EffectTableRefused`` for text that is too long, no YAML, more than one document or no mapping;
    for duplicate names, aliases, tags, names that are no strings, integers beyond 2^53 - 1, numbers that no
    double holds, NUL characters and lone surrogates.
    """
    if len(text) > MAX_CHARACTERS:
        raise EffectTableRefused("", f"longer than {MAX_CHARACTERS} characters")
    try:
        value: object = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader, and stricter
    except yaml.YAMLError as error:
        raise EffectTableRefused("", f"no YAML that is read here: {_in_short(error)}") from None
    except (ValueError, RecursionError) as error:
        # An integer of thousands of digits.
        raise EffectTableRefused("", f"no YAML that is read here: {error}") from None
    if not isinstance(value, dict):
        raise EffectTableRefused("", "the document is a mapping with the name tools")
    return cast(dict[str, JSONValue], _json(value, ""))


def place(path: str, step: str | int) -> str:
    """The path one step further in: ``tools`` and ``a`` → ``tools.a``, ``rules`` and 0 → ``rules[0]``."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if not step or not all(character.isalnum() or character in "_-" for character in step):
        return f"{path}[{step!r}]"
    return f"{path}.{step}" if path else step


class _Loader(yaml.SafeLoader):
    """A SafeLoader that refuses duplicate names, aliases, tags and deep nesting.

    Plain scalars are read as JSON reads them, and all others are strings: ``on``, ``12:30`` and
    ``2026-01-01`` too, which YAML 1.1 and 1.2 read differently.
    """

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.NodeEvent = self.peek_event()  # type: ignore[no-untyped-call]
        self.depth += 1
        fault = None
        if isinstance(event, yaml.AliasEvent):
            fault = "aliases are not read"
        elif getattr(event, "tag", None) is not None:
            fault = "tags are not read"
        elif self.depth > MAX_DEPTH:
            fault = "nested too deeply"
        if fault is not None:
            raise yaml.composer.ComposerError(None, None, fault, cast(yaml.Mark | None, event.start_mark))
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        mapping: dict[Hashable, object] = super().construct_mapping(node, deep=deep)
        seen = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if name in seen:
                fault = f"the name {name!r} stands twice"
                raise yaml.constructor.ConstructorError(None, None, fault, key.start_mark)
            seen.add(name)
        return mapping


_Loader.yaml_implicit_resolvers = {}
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:null|~|)\Z"), ["n", "~", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)\Z"), ["t", "f"])
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]*)\Z"), [*"-0123456789"])
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z"),
    [*"-0123456789"],
)


def _json(value: object, path: str) -> JSONValue:
    if isinstance(value, dict):
        return {_name(name, path): _json(member, place(path, name)) for name, member in value.items()}
    if isinstance(value, list):
        return [_json(element, place(path, index)) for index, element in enumerate(value)]
    if isinstance(value, str):
        return _text(value, path)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= MAX_INTEGER:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise EffectTableRefused(path, "a number that JSON does not carry exactly; write it in quotes")


def _name(name: object, path: str) -> str:
    if not isinstance(name, str):
        raise EffectTableRefused(path, f"the name {name!r} is no string; write it in quotes")
    return _text(name, path)


def _text(value: str, path: str) -> str:
    try:
        # YAML reads the two halves of a JSON escape like "\ud83d\ude00" one by one.
        whole = value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise EffectTableRefused(path, "text holds no lone surrogates") from None
    if "\0" in whole:
        raise EffectTableRefused(path, "text holds no NUL")
    return whole


def _in_short(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    return " ".join(str(error).split())
