"""Texts as a tool's schema wants them: what is exactly one value of a type that is allowed, and nothing guessed."""

from typing import Any

import pytest

from effects.arguments import ArgumentSchema
from effects.typed_texts import typed


def value(text: str, wanted: dict[str, Any] | bool, **schema: Any) -> object:
    document = {"type": "object", "properties": {"a": wanted}, **schema}
    ArgumentSchema.compile(document)
    return typed(document, {"a": text})["a"]


@pytest.mark.parametrize(
    ("text", "type_", "becomes"),
    [
        ("7", "integer", 7),
        (" -7\n", "integer", -7),
        ("7.0", "integer", 7.0),
        ("7.5", "number", 7.5),
        ("1e3", "number", 1000.0),
        ("true", "boolean", True),
        ("False", "boolean", False),
        ("null", "null", None),
        ('{"b": [1]}', "object", {"b": [1]}),
        ("[1, 2]", "array", [1, 2]),
        ("7", ["integer", "null"], 7),
        ("null", ["string", "null"], None),
    ],
)
def test_a_value_of_the_type_that_the_schema_names(text: str, type_: Any, becomes: object) -> None:
    found = value(text, {"type": type_})
    assert found == becomes
    assert type(found) is type(becomes)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("7", {"type": "string"}),
        ("null", {"type": "string"}),
        ("7", {"type": ["integer", "string"]}),
        ("7", {}),
        ("7", True),
        ("7", {"enum": ["7", 8]}),
        # Not such a value: the text stays, and the schema says so.
        ("7.5", {"type": "integer"}),
        ("seven", {"type": "integer"}),
        ("07", {"type": "integer"}),
        ("1_000", {"type": "integer"}),
        ("9007199254740993", {"type": "integer"}),
        ("NaN", {"type": "number"}),
        ("1e999", {"type": "number"}),
        ("1", {"type": "boolean"}),
        ("None", {"type": "null"}),
        ("", {"type": "integer"}),
        ('{"b": 1, "b": 2}', {"type": "object"}),
        ("{'b': 1}", {"type": "object"}),
        ("[1]", {"type": "object"}),
        ("null", {"type": "integer"}),
    ],
)
def test_anything_else_stays_the_text_that_it_is(text: str, wanted: Any) -> None:
    assert value(text, wanted) == text


@pytest.mark.parametrize(
    "wanted",
    [
        {"$ref": "#/$defs/n"},
        {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]},
        {"allOf": [{"$ref": "#/$defs/n"}], "description": "how many"},
        {"enum": [1, 7]},
        {"const": 7},
    ],
)
def test_the_type_may_stand_elsewhere_in_the_schema(wanted: Any) -> None:
    assert value("7", wanted, **{"$defs": {"n": {"type": "integer"}}}) == 7


def test_names_may_be_declared_behind_a_reference() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/args",
        "definitions": {"args": {"properties": {"n": {"items": [{"type": "integer"}], "type": "array"}}}},
    }
    ArgumentSchema.compile(schema)
    assert typed(schema, {"n": "[1]", "other": "2"}) == {"n": [1], "other": "2"}


def test_a_schema_that_leads_many_ways_to_one_place_costs_each_place_once() -> None:
    doubling = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    defs = {**doubling, "d60": {"type": "integer"}}
    assert value("7", {"$ref": "#/$defs/d0"}, **{"$defs": defs}) == 7
