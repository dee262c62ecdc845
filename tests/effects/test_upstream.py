"""Where the table says that a tool is: servers, their tools and the digests that pin them."""

import pytest

from effects.errors import EffectTableRefused
from effects.table import EffectTable
from effects.upstream import origin

PIN = "sha256:" + "a" * 64


def table(tools: str, servers: str = "shop: {command: [python, -m, shop]}") -> EffectTable:
    return EffectTable.parse(f"tools: {{{tools}}}\nservers: {{{servers}}}")


def test_a_tool_of_a_server_goes_by_its_own_name_or_by_the_servers() -> None:
    made = table(
        "a: {effect: WRITE, upstream: {mcp: shop}}, b: {effect: WRITE, upstream: {mcp: shop, tool: a}}"
    )
    judged = made.classify("b", {})
    assert judged.upstream is not None
    assert (judged.upstream.kind, judged.upstream.tool) == ("mcp", "a")
    assert judged.server == made.servers["shop"]
    assert judged.footprint.upstream == made.classify("a", {}).footprint.upstream == "mcp:shop"


def test_tools_of_two_servers_may_have_one_name_there() -> None:
    servers = "a: {url: 'http://a/mcp'}, b: {url: 'http://b/mcp'}"
    tools = (
        "one: {effect: WRITE, upstream: {mcp: a, tool: x}}, two: {effect: WRITE, upstream: {mcp: b, tool: x}}"
    )
    made = table(tools, servers)
    assert made.classify("one", {}).server != made.classify("two", {}).server


@pytest.mark.parametrize(
    ("tool", "servers", "path"),
    [
        ("upstream: {mcp: shop}", f"shop: {{command: [x], pins: {{other: '{PIN}'}}}}", "tools.t.upstream"),
        (
            "upstream: {mcp: shop, tool: u}",
            f"shop: {{command: [x], pins: {{t: '{PIN}'}}}}",
            "tools.t.upstream",
        ),
        ("upstream: {mcp: shop}", "shop: {command: [x], pins: {t: 'sha256:1'}}", "servers.shop.pins.t"),
        ("upstream: {http: 'http://x', tool: u}", "shop: {command: [x]}", "tools.t.upstream"),
        ("upstream: {mcp: shop}, max_result: 0", "shop: {command: [x]}", "tools.t.max_result"),
        ("upstream: {mcp: shop}, max_result: 16777217", "shop: {command: [x]}", "tools.t.max_result"),
        ("upstream: {mcp: shop}, max_result: '1'", "shop: {command: [x]}", "tools.t.max_result"),
    ],
)
def test_a_fault_is_named(tool: str, servers: str, path: str) -> None:
    with pytest.raises(EffectTableRefused) as refused:
        table(f"t: {{effect: WRITE, {tool}}}", servers)
    assert refused.value.path == path


def test_a_pinned_server_is_read_back_from_its_document() -> None:
    made = table("t: {effect: WRITE, upstream: {mcp: shop}}", f"shop: {{command: [x], pins: {{t: '{PIN}'}}}}")
    assert EffectTable.from_document(made.document()) == made
    assert made.classify("t", {}).max_result == 1 << 20


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://Shop.Example/a?b=c", "http://shop.example:80"),
        ("https://shop.example", "https://shop.example:443"),
        ("http://127.0.0.1:9100/tools/x", "http://127.0.0.1:9100"),
        ("http://[::1]:80/", "http://[::1]:80"),
        ("HTTP://x:0080", "http://x:80"),
    ],
)
def test_origins(url: str, expected: str) -> None:
    assert origin(url) == expected
