"""The schema of a tool's arguments: what is taken as one, and what it says of arguments."""

import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft201909Validator, Draft202012Validator

from effects.arguments import MAX_STEPS, MAX_TOLD, ArgumentSchema
from effects.errors import EffectTableRefused
from effects.table import EffectTable

ORDER = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^W[0-9]+$"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}, "uniqueItems": True},
    },
    "required": ["id"],
    "additionalProperties": False,
    "$defs": {"item": {"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}}}},
}


DRAFT_04, DRAFT_07 = (f"http://json-schema.org/draft-0{number}/schema#" for number in (4, 7))
OTHER_DRAFTS = [
    DRAFT_04,
    DRAFT_07.replace("7", "6"),
    DRAFT_07,
    "https://json-schema.org/draft/2019-09/schema",
]


def fault(schema: dict[str, Any], arguments: dict[str, Any]) -> tuple[str, str] | None:
    found = ArgumentSchema.compile(schema).fault(arguments)
    return None if found is None else (found.path, found.because)


@pytest.mark.parametrize(
    ("arguments", "path", "because"),
    [
        ({}, "", "lacks 'id'"),
        ({"id": 7}, "id", "does not meet type"),
        ({"id": "V1"}, "id", "does not meet pattern"),
        ({"id": "W1", "items": [{"count": 1}, {"count": 0}]}, "items[1].count", "does not meet minimum: 1"),
        ({"id": "W1", "items": [{"a": 1}, {"a": 1.0}]}, "items", "does not meet uniqueItems"),
        ({"id": "W1", "idd": 1}, "", "has names that the schema does not know"),
    ],
)
def test_the_first_fault_is_named_by_its_place(arguments: dict[str, Any], path: str, because: str) -> None:
    found = fault(ORDER, arguments)
    assert found is not None
    assert found[0] == path
    assert because in found[1]


def test_right_arguments_have_no_fault_and_are_not_filled_in() -> None:
    arguments = {"id": "W1", "items": [{"count": 1}, {"count": 2}, {"count": True and 3.0}]}
    before = repr(arguments)
    assert fault({**ORDER, "default": {"id": "W0"}}, arguments) is None
    assert repr(arguments) == before


def test_formats_say_nothing() -> None:
    assert fault({"properties": {"at": {"format": "date-time"}}}, {"at": "never"}) is None


def test_a_fault_tells_neither_values_nor_names_of_the_arguments() -> None:
    secret = "s3cret" * 1000
    schema: dict[str, Any] = {
        "additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}},
        "properties": {"a": {"const": "b"}},
    }
    for arguments in ({"a": secret}, {secret: {secret: secret}}, {secret: [secret]}):
        found = fault(schema, arguments)
        assert found is not None
        assert "s3cret" not in "".join(found)
        assert all(len(part) <= MAX_TOLD for part in found)
    assert fault(schema, {secret: {secret: secret}}) == ("[*][*]", 'does not meet type: "integer"')


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (True, "a JSON object"),
        ({"type": "strin"}, "no JSON Schema 2020-12"),
        ({"items": [{}]}, "no JSON Schema 2020-12"),
        ({"$schema": DRAFT_04, "properties": {"a": True}}, "no JSON Schema draft-04"),
        ({"properties": {"a": {"minimum": "1"}}}, "properties.a.minimum"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "no draft that is taken"),
        ({"$schema": "http://json-schema.org/schema#"}, "no draft that is taken"),
        ({"$schema": "http://127.0.0.1:9/draft-07/schema#"}, "no draft that is taken"),
        ({"$schema": 7}, "no draft that is taken"),
        ({"properties": {"a": {"$schema": DRAFT_07}}}, "not taken"),
        ({"$schema": DRAFT_04, "id": "http://127.0.0.1:9/a"}, "not taken"),
        ({"$schema": DRAFT_04, "if": {}}, "not taken"),
        ({"$schema": DRAFT_07, "prefixItems": [{}]}, "not taken"),
        ({"$schema": DRAFT_07, "minContains": 1}, "not taken"),
        (
            {"$schema": "https://json-schema.org/draft/2019-09/schema", "dependencies": {"a": ["b"]}},
            "not taken",
        ),
        ({"$schema": DRAFT_07, "items": [{"$ref": "#/items/0"}]}, "comes back to itself"),
        ({"$schema": DRAFT_07, "dependencies": {"a": {"$ref": "#"}}}, "comes back to itself"),
        ({"$ref": "http://127.0.0.1:9/schema"}, "nothing is fetched"),
        ({"properties": {"a": {"$ref": "other.json"}}}, "nothing is fetched"),
        ({"allOf": [{"$ref": "#anchor"}]}, "nothing is fetched"),
        ({"$ref": "#/$defs/none"}, "leads to no schema"),
        ({"$ref": "#/examples/0", "examples": [{"$ref": "http://127.0.0.1:9/"}]}, "leads to no schema"),
        ({"$dynamicRef": "#a"}, "not taken"),
        ({"$id": "http://127.0.0.1:9/a"}, "not taken"),
        ({"dependencies": {"a": ["b"]}}, "not taken"),
        ({"$ref": "#"}, "comes back to itself"),
        ({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}, "comes back"),
        ({"properties": {"a": {"pattern": "(?=a)b"}}}, "look-around"),
        ({"patternProperties": {"(a)\\1": {}}}, "look-around"),
        ({"properties": {"a": {"pattern": "(a{1000}){1000}"}}}, "is not taken"),
        ({"properties": {"a": {"pattern": "a" * 1001}}}, "1000 characters"),
        ({"patternProperties": {"a": {}}, "unevaluatedProperties": False}, "not taken together"),
    ],
)
def test_what_is_no_schema_here(schema: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        ArgumentSchema.compile(schema)


def test_a_place_that_is_no_schema_may_hold_anything() -> None:
    remote = {"$ref": "http://127.0.0.1:9/"}
    schema = {"const": {"a": remote}, "examples": [remote], "properties": {"$ref": {"type": "string"}}}
    assert fault(schema, {"a": remote}) is None


def test_a_schema_may_come_back_to_itself_inside_the_value() -> None:
    tree = {"properties": {"below": {"type": "array", "items": {"$ref": "#"}}}, "required": ["n"]}
    assert fault(tree, {"n": 1, "below": [{"n": 2, "below": []}]}) is None
    assert fault(tree, {"n": 1, "below": [{"n": 2, "below": [{}]}]}) == ("below[0].below[0]", "lacks 'n'")


def test_a_check_ends_however_the_schema_and_the_arguments_were_made() -> None:
    doubling = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    bomb = {"$ref": "#/$defs/d0", "$defs": {**doubling, "d40": {"type": "object"}}}
    backtracking = {"properties": {"a": {"pattern": "^(a+)+$"}}}
    square = {"properties": {"a": {"uniqueItems": True}}}
    many: list[Any] = [{"n": n} for n in range(20_000)]
    began = time.monotonic()
    assert fault(bomb, {}) == ("", f"checking them takes more than {MAX_STEPS} steps")
    assert fault(backtracking, {"a": "a" * 100_000 + "!"}) is not None
    assert fault(square, {"a": many}) is None
    assert fault(square, {"a": [*many, {"n": 0}]}) is not None
    assert (
        fault({"items": {}, "properties": {"a": {"items": {"type": "integer"}}}}, {"a": [0] * 60_000})
        is not None
    )
    assert time.monotonic() - began < 20


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([0.5, 2.0, "", "a", "bb", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
schemas = st.recursive(
    st.sampled_from(
        [
            *(
                True,
                False,
                {"type": "integer"},
                {"type": ["string", "null"]},
                {"minimum": 2},
                {"maxLength": 1},
            ),
            *({"pattern": "^a"}, {"uniqueItems": True}, {"enum": [1, "a", None]}, {"required": ["a"]}),
            {"const": {"a": 1}},
        ]
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$", "."]), inner, max_size=2),
            "additionalProperties": inner,
            "items": inner,
            "contains": inner,
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "if": inner,
            "then": inner,
        },
    ),
    max_leaves=6,
)


@given(
    schemas.filter(lambda schema: isinstance(schema, dict)),
    st.dictionaries(st.sampled_from("abc"), json_values),
    st.sampled_from([Draft7Validator, Draft201909Validator, Draft202012Validator]),
)
def test_it_judges_as_the_library_does(schema: dict[str, Any], arguments: dict[str, Any], draft: Any) -> None:
    named = {"$schema": draft.META_SCHEMA["$schema"], **schema}
    assert (fault(named, arguments) is None) == draft(named).is_valid(arguments)


@pytest.mark.parametrize("draft", OTHER_DRAFTS)
def test_a_schema_that_names_an_older_draft_was_refused(draft: str) -> None:
    schema = {
        "$schema": draft,
        "$ref": "#/definitions/order",
        "definitions": {
            "order": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "pattern": "^W"},
                    "item": {"$ref": "#/definitions/item"},
                    "pair": {
                        "items": [{"type": "integer"}, {"$ref": "#/definitions/item"}],
                        "additionalItems": False,
                    },
                },
                "required": ["id"],
                "additionalProperties": False,
            },
            "item": {"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}}},
        },
    }
    right = {"id": "W1", "item": {"count": 2}, "pair": [1, {"count": 1}]}
    assert fault(schema, right) is None
    for wrong, path in (
        ({"id": "V1"}, "id"),
        ({**right, "item": {"count": 0}}, "item.count"),
        ({**right, "pair": [1, {"count": 0}]}, "pair[1].count"),
        ({**right, "pair": [1, {}, 3]}, "pair"),
        ({**right, "other": 1}, ""),
    ):
        found = fault(schema, wrong)
        assert found is not None
        assert found[0] == path
    # Without a draft of its own it is held against 2020-12, which has no lists of items.
    with pytest.raises(ValueError, match="no JSON Schema 2020-12"):
        ArgumentSchema.compile({name: value for name, value in schema.items() if name != "$schema"})


@pytest.mark.parametrize("draft", OTHER_DRAFTS)
@pytest.mark.parametrize(
    "schema",
    [
        {"definitions": {"a": {"$ref": "http://127.0.0.1:9/schema"}}},
        {"items": [{"$ref": "other.json#/definitions/a"}]},
        {"additionalItems": {"$ref": "http://127.0.0.1:9/schema"}},
        {"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "http://127.0.0.1:9/schema"}}},
    ],
    ids=["definitions", "items", "additional-items", "through-definitions"],
)
def test_remote_references_are_refused_in_every_draft(draft: str, schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="nothing is fetched"):
        ArgumentSchema.compile({"$schema": draft, **schema})


@pytest.mark.parametrize("draft", OTHER_DRAFTS[:3])
def test_dependencies_judge_where_the_draft_has_them(draft: str) -> None:
    schema = {"$schema": draft, "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}
    assert fault(schema, {"a": 1, "b": 2}) is None
    assert fault(schema, {"a": 1}) is not None
    assert fault(schema, {"c": 1}) == ("", "lacks 'd'")
    remote = {"$schema": draft, "dependencies": {"a": {"$ref": "http://127.0.0.1:9/"}}}
    with pytest.raises(ValueError, match="nothing is fetched"):
        ArgumentSchema.compile(remote)


def test_each_draft_has_numbers_of_its_own() -> None:
    assert fault(
        {"$schema": DRAFT_04, "properties": {"a": {"minimum": 1, "exclusiveMinimum": True}}}, {"a": 1}
    )
    assert fault({"$schema": DRAFT_07, "properties": {"a": {"exclusiveMinimum": 1}}}, {"a": 1})
    with pytest.raises(ValueError, match="exclusiveMinimum"):
        ArgumentSchema.compile({"$schema": DRAFT_07, "exclusiveMinimum": True})


def test_what_stands_beside_a_reference_says_nothing_in_older_drafts() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/definitions/n", "maximum": 1}},
        "definitions": {"n": {"type": "integer"}},
    }
    assert fault(schema, {"a": 2}) is not None
    assert fault({"$schema": DRAFT_07, **schema}, {"a": 2}) is None


def test_members_that_additional_properties_judged_are_evaluated_in_2019_09_too() -> None:
    schema = {
        "$schema": OTHER_DRAFTS[-1],
        "allOf": [{"additionalProperties": {"type": "integer"}}],
        "unevaluatedProperties": False,
    }
    assert fault(schema, {"a": 1}) is None


def test_a_table_holds_schemas_and_says_where_one_is_refused() -> None:
    line = "tools: {{pay: {{effect: WRITE, upstream: {{http: 'http://a/b'}}, schema: {schema}}}}}"
    table = EffectTable.parse(line.format(schema="{required: [amount], default: null}"))
    again = EffectTable.from_document(table.document())
    assert (again, again.digest) == (table, table.digest)
    assert table.classify("pay", {}).fault is not None
    assert table.classify("pay", {"amount": 1}).fault is None
    with pytest.raises(EffectTableRefused) as refused:
        EffectTable.parse(line.format(schema="{$ref: 'http://a/b'}"))
    assert refused.value.path == "tools.pay.schema"
