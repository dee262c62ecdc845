"""What belongs to the definition of a tool, and what may change without it."""

import json
from collections.abc import Mapping

import pytest

from effects.table import EffectTable

PIN, OTHER_PIN = "sha256:" + "1" * 64, "sha256:" + "2" * 64
HTTP: Mapping[str, object] = {
    "effect": "WRITE",
    "writes": ["desk:{name}"],
    "upstream": {"http": "http://a.test/f"},
}
MCP: Mapping[str, object] = {"effect": "IDEMPOTENT", "writes": ["desk:{name}"], "upstream": {"mcp": "shop"}}
SHOP: Mapping[str, object] = {"url": "http://shop.test/mcp", "pins": {"f": PIN, "g": PIN, "h": PIN}}


def defined(tool: Mapping[str, object], shop: Mapping[str, object] = SHOP, **more: object) -> str:
    document = {"tools": {"f": dict(tool)}, "servers": {"shop": dict(shop)}, **more}
    told = EffectTable.from_document(json.loads(json.dumps(document))).definition("f")
    assert told is not None
    return told


@pytest.mark.parametrize(
    "change",
    [
        {"effect": "IDEMPOTENT"},
        {"rules": [{"when": "name == 'y'", "effect": "READ_ONLY"}]},
        {"writes": ["desk:{name}", "chair:{name}"]},
        {"writes": []},
        {"reads": ["desk:{name}"]},
        {"schema": {"type": "object", "required": ["name"]}},
        {"upstream": {"http": "http://b.test/f"}},
        {"upstream": {"http": "http://a.test/g"}},
        {"upstream": {"http": "http://a.test/f", "headers": {"Authorization": {"env": "KEY"}}}},
        {"upstream": {"python": "shop.desk:f"}},
        {"upstream": {"mcp": "shop"}},
    ],
    ids=str,
)
def test_what_decides_where_and_as_what_a_call_goes_is_its_definition(change: Mapping[str, object]) -> None:
    assert defined({**HTTP, **change}) != defined(HTTP)


@pytest.mark.parametrize(
    "change",
    [
        {"timeout": "7s"},
        {"max_result": 1000},
        {"limits": {"rate": "5/s"}},
        {"mask": ["$.name"]},
        {"approval": "required"},
        {"approval": "required", "approval_expires": "1m"},
        {"open_world": True},
    ],
    ids=str,
)
def test_patience_limits_and_who_is_asked_are_not(change: Mapping[str, object]) -> None:
    assert defined({**HTTP, **change}) == defined(HTTP)


def test_the_policy_and_other_tools_are_not() -> None:
    one = EffectTable.from_document(json.loads(json.dumps({"tools": {"f": HTTP}})))
    policy = {"write_order": "footprint"}
    other = EffectTable.from_document(
        json.loads(json.dumps({"tools": {"f": HTTP, "g": MCP}, "servers": {"shop": SHOP}, "policy": policy}))
    )
    assert one.definition("f") == other.definition("f")


@pytest.mark.parametrize(
    ("shop", "differs"),
    [
        ({**SHOP, "pins": {**SHOP["pins"], "f": OTHER_PIN}}, True),  # type: ignore[dict-item]
        ({**SHOP, "url": "http://elsewhere.test/mcp"}, True),
        ({**SHOP, "headers": {"Authorization": {"env": "KEY"}}}, True),
        ({"url": SHOP["url"]}, True),
        ({**SHOP, "pins": {**SHOP["pins"], "g": OTHER_PIN}}, False),  # type: ignore[dict-item]
    ],
    ids=["its pin", "address", "headers", "no pins", "the pin of another tool"],
)
def test_of_a_server_its_address_and_the_pin_of_the_tool_count(
    shop: Mapping[str, object], differs: bool
) -> None:
    assert (defined(MCP, shop) != defined(MCP)) is differs


def test_a_tool_is_pinned_by_the_name_that_its_server_gives_it() -> None:
    renamed = {**MCP, "upstream": {"mcp": "shop", "tool": "h"}}
    moved = {**SHOP, "pins": {**SHOP["pins"], "h": OTHER_PIN}}  # type: ignore[dict-item]
    assert defined(renamed, moved) != defined(renamed)
    assert defined(MCP, moved) == defined(MCP)


def test_what_is_not_in_the_table_has_none() -> None:
    table = EffectTable.from_document({"tools": {}})
    assert table.definition("f") is None
    assert table.classify("f", {}).definition is None


def test_a_call_has_the_definition_of_its_tool_whatever_its_arguments() -> None:
    table = EffectTable.from_document(json.loads(json.dumps({"tools": {"f": HTTP}})))
    told = {table.classify("f", arguments).definition for arguments in ({"name": "x"}, {"name": "y"}, None)}
    assert told == {table.definition("f")}
