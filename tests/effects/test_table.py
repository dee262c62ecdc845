import json
import pickle
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effects.classes import EffectClass
from effects.document import MAX_CHARACTERS
from effects.errors import EffectTableRefused
from effects.footprint import Footprint, Key
from effects.policy import ReadsBehindWrites, WriteOrder
from effects.table import EffectTable
from tests.effects.drawn import plain

READ, IDEMPOTENT, WRITE = EffectClass.READ_ONLY, EffectClass.IDEMPOTENT, EffectClass.WRITE

# The example of the documentation, with its comments.
EXAMPLE = """
policy: {write_order: footprint, reads_behind_writes: send}     # strict|footprint, hold|send
tools:
  get_order_details:
    {effect: READ_ONLY, reads: ["order:{order_id}"], upstream: {http: "http://127.0.0.1:9100/tools/get_order_details"}}
  cancel_order:
    effect: WRITE
    writes: ["order:{order_id}"]
    upstream: {http: "http://127.0.0.1:9100/tools/cancel_order"}
    probe:
      {tool: get_order_details, arguments: {order_id: "{order_id}"}, happened: "result.status == 'cancelled'"}
    approval: required
  set_address: {effect: IDEMPOTENT, window: 24h, writes: ["order:{order_id}"], upstream: {mcp: "shop"}}
  http_request:
    effect: WRITE
    open_world: true
    timeout: 10s
    rules: [{when: "method == 'GET'", effect: READ_ONLY}]
    upstream: {http: "https://proxy.example/fetch"}
servers:
  shop: {command: ["python", "-m", "shop"]}
"""


def one_tool(fields: str, upstream: str = "http: http://x") -> EffectTable:
    return EffectTable.parse(f"tools: {{t: {{{fields}, upstream: {{{upstream}}}}}}}")


def refusal(text: str) -> EffectTableRefused:
    with pytest.raises(EffectTableRefused) as caught:
        EffectTable.parse(text)
    return caught.value


# --- reading


def test_the_example_is_read() -> None:
    table = EffectTable.parse(EXAMPLE)
    assert list(table.tools) == ["get_order_details", "cancel_order", "set_address", "http_request"]
    assert table.policy.write_order is WriteOrder.FOOTPRINT
    assert table.policy.reads_behind_writes is ReadsBehindWrites.SEND
    assert table.tools["http_request"].timeout == 10.0
    assert table.tools["set_address"].window == 86400.0
    cancel = table.tools["cancel_order"]
    assert str(cancel.approval) == "required"
    assert cancel.probe is not None
    assert cancel.probe.arguments == {"order_id": "{order_id}"}
    assert table.servers["shop"].command == ("python", "-m", "shop")


def test_the_defaults() -> None:
    table = one_tool("effect: WRITE")
    tool = table.tools["t"]
    assert (tool.reads, tool.writes, tool.rules) == (None, None, ())
    assert (tool.open_world, tool.speculate, tool.timeout) == (False, None, 30.0)
    assert (tool.window, tool.max_age, tool.probe, tool.approval) == (None, None, None, None)
    assert table.policy.write_order is WriteOrder.STRICT
    assert table.policy.reads_behind_writes is ReadsBehindWrites.HOLD


def test_a_table_may_be_empty() -> None:
    assert EffectTable.parse("tools: {}").tools == {}


def test_names_that_other_yaml_readers_take_for_something_else() -> None:
    table = EffectTable.parse("tools: {on: {effect: WRITE, upstream: {http: 'http://x'}}}")
    assert list(table.tools) == ["on"]


FAULTS = [
    ("", "", "mapping"),
    ("[]", "", "mapping"),
    ("policy: {}", "tools", "missing"),
    ("tools: null", "tools", "object"),
    ("tools: {t: {effect: WRITE}}", "tools.t.upstream", "missing"),
    ("tools: {t: {upstream: {http: 'http://x'}}}", "tools.t.effect", "missing"),
    ("tools: {}\ntool: {}", "tool", "unknown field"),
    ("tools: {}\npolicy: {write_order: loose}", "policy.write_order", "'strict' or 'footprint'"),
    ("tools: {}\npolicy: {order: strict}", "policy.order", "unknown field"),
    ("tools: {}\nservers: {s: {}}", "servers.s", "either"),
    ("tools: {}\nservers: {s: {command: []}}", "servers.s.command", "at least 1"),
    ("tools: {}\nservers: {s: {command: [a], url: 'http://x'}}", "servers.s", "either"),
    ("tools: {1: {}}", "tools", "no string"),
    ("tools: {a b: {effect: WRITE, upstream: {http: 'http://x'}}}", "tools['a b']", "must match"),
    ("tools: {a: 1, a: 2}", "", "stands twice"),
    ("tools: {t: {effect: WRITE, effect: READ_ONLY}}", "", "line 1, column 28"),
    ("a: &a [x]\nb: *a", "", "aliases"),
    ("tools: {<<: {a: 1}}", "tools['<<'].effect", "missing"),
    ("tools: !!python/object/apply:os.system [id]", "", "tags"),
    ("tools: !!set {a}", "", "tags"),
    ("tools: {}\n---\ntools: {}", "", "another document"),
    ("tools: {", "", "line 1"),
    ("tools: {? [a] : 1}", "", "unhashable"),
    ("[" * 100_000, "", "deeply"),
    ("{a: " * 100_000, "", "deeply"),
    ("tools: " + "1" * 5000, "", "digits"),
    ("tools: 9007199254740992", "tools", "exactly"),
    ("tools: 1e999", "tools", "exactly"),
    ('tools: "\\ud800"', "tools", "surrogates"),
    ('tools: {"a\\0": 1}', "tools", "NUL"),
    ("# " + "x" * MAX_CHARACTERS, "", "longer than"),
    ("tools: \x07", "", "unacceptable character"),
]


@pytest.mark.parametrize(("text", "path", "says"), FAULTS)
def test_a_refusal_names_the_place(text: str, path: str, says: str) -> None:
    refused = refusal(text)
    assert refused.path == path
    assert says in str(refused)
    assert refused.code == "effect_table_refused"


@pytest.mark.parametrize(
    ("fields", "path", "says"),
    [
        ("effect: write", ".effect", "'WRITE'"),
        ("effect: WRITE, effects: 1", ".effects", "unknown field"),
        ("effect: WRITE, open_world: yes", ".open_world", "true or false"),
        ("effect: READ_ONLY, speculate: 1", ".speculate", "true or false"),
        ("effect: WRITE, timeout: 30", ".timeout", "with a unit"),
        ("effect: WRITE, timeout: 0s", ".timeout", "longer than zero"),
        ("effect: WRITE, timeout: 1.5s", ".timeout", "with a unit"),
        ("effect: WRITE, timeout: -1s", ".timeout", "with a unit"),
        ("effect: WRITE, writes: 'a'", ".writes", "a list"),
        ("effect: WRITE, writes: [1]", ".writes[0]", "a key is a string"),
        ("effect: WRITE, writes: [a, 'b{']", ".writes[1]", "braces"),
        ("effect: WRITE, writes: ['a*b']", ".writes[0]", "only at the end"),
        ("effect: WRITE, rules: [{when: 'a =', effect: WRITE}]", ".rules[0].when", "no CEL"),
        ("effect: WRITE, rules: [{when: 'a.f()', effect: WRITE}]", ".rules[0].when", "unknown function"),
        ("effect: WRITE, rules: [{when: 'now > a', effect: WRITE}]", ".rules[0].when", "belongs to"),
        ("effect: WRITE, rules: [{when: 'a'}]", ".rules[0].effect", "missing"),
        ("effect: WRITE, rules: [{when: 'a', effect: WRITE, if: a}]", ".rules[0].if", "unknown field"),
        ("effect: WRITE, approval: 'a ='", ".approval", "no CEL"),
        ("effect: WRITE, approval: true", ".approval", "as a string"),
        ("effect: WRITE, probe: {tool: t}", ".probe.happened", "missing"),
        ("effect: WRITE, probe: {tool: t, happened: 'true'}", ".probe.tool", "READ_ONLY"),
        ("effect: WRITE, probe: {tool: other, happened: 'true'}", ".probe.tool", "'other'"),
        ("effect: WRITE, window: 1h", "", "IDEMPOTENT"),
        ("effect: WRITE, max_age: 1h", "", "READ_ONLY"),
        ("effect: WRITE, speculate: true", "", "READ_ONLY"),
        ("effect: READ_ONLY, writes: [a]", "", "writes nothing"),
    ],
)
def test_a_fault_in_a_tool_is_named(fields: str, path: str, says: str) -> None:
    refused = refusal(f"tools: {{t: {{{fields}, upstream: {{http: 'http://x'}}}}}}")
    assert refused.path == "tools.t" + path
    assert says in refused.reason


@pytest.mark.parametrize(
    ("upstream", "path"),
    [
        ("", ""),
        ("http: 'http://x', mcp: s", ""),
        ("mcp: nowhere", ".mcp"),
        ("mcp: ''", ".mcp"),
        ("url: 'http://x'", ".url"),
        ("http: 'ftp://x'", ".http"),
        ("http: x", ".http"),
        ("http: 'http://'", ".http"),
        ("http: 'http://user:secret@x'", ".http"),
        ("http: 'http://x/#a'", ".http"),
        ("http: 'http://x:70000'", ".http"),
        ("http: 'http://[::1'", ".http"),
        ("http: 'http://x/a b'", ".http"),
        ('http: "http://x/\\n"', ".http"),
        ("http: 'http://é'", ".http"),
        ("http: 1", ".http"),
    ],
)
def test_a_fault_in_an_upstream_is_named(upstream: str, path: str) -> None:
    assert (
        refusal(f"tools: {{t: {{effect: WRITE, upstream: {{{upstream}}}}}}}").path
        == "tools.t.upstream" + path
    )


def test_the_other_faults_are_counted() -> None:
    assert refusal("tools: {a: {}, b: {}}").more == 3


def test_what_would_be_idle_in_a_lower_class_is_taken_where_a_rule_leads_there() -> None:
    rules = "rules: [{when: 'a == 1', effect: READ_ONLY}, {when: 'a == 2', effect: IDEMPOTENT}]"
    table = one_tool(f"effect: WRITE, {rules}, window: 1h, max_age: 1m, speculate: true, writes: [a]")
    tool = table.tools["t"]
    assert (tool.window, tool.max_age, tool.speculate) == (3600.0, 60.0, True)


@given(st.text(max_size=60) | st.text("{}[]:,-?&*!|>'\"%@` \nat1.#", max_size=40))
def test_any_text_is_taken_or_refused(text: str) -> None:
    with suppress(EffectTableRefused):
        EffectTable.parse(text)


# --- the document


def test_a_table_is_read_back_from_its_document() -> None:
    table = EffectTable.parse(EXAMPLE)
    document = json.loads(json.dumps(table.document()))
    again = EffectTable.from_document(document)
    assert again == table
    assert again.document() == table.document()
    assert again.digest == table.digest
    assert again.classify("http_request", {"method": "GET"}).effect is READ


def test_the_document_tells_absent_keys_from_none() -> None:
    document = one_tool("effect: WRITE, writes: []").document()
    tools = document["tools"]
    assert isinstance(tools, dict)
    fields = tools["t"]
    assert isinstance(fields, dict)
    assert fields["writes"] == []
    assert "reads" not in fields
    assert fields["timeout"] == "30s"  # a later default does not change what was in force


def test_the_digest_is_that_of_the_meaning() -> None:
    one = one_tool("effect: IDEMPOTENT, window: 24h, writes: []")
    assert one.digest == one_tool("writes: [], window: 1d, timeout: 30000ms, effect: 'IDEMPOTENT'").digest
    assert one.digest != one_tool("effect: IDEMPOTENT, window: 24h").digest
    assert one.digest != one_tool("effect: IDEMPOTENT, window: 25h, writes: []").digest
    assert one.digest.startswith("sha256:")


def test_a_document_that_the_ledger_does_not_write_is_refused() -> None:
    with pytest.raises(EffectTableRefused):
        EffectTable.from_document({"tools": {"t": 1}})


def test_a_table_does_not_change() -> None:
    table = one_tool("effect: WRITE")
    with pytest.raises(ValueError, match="frozen"):
        table.tools["t"].effect = READ  # type: ignore[misc]


# --- classification


def test_an_unknown_tool_is_a_write_that_overlaps_everything() -> None:
    found = EffectTable.parse(EXAMPLE).classify("launch", {"order_id": "W1"})
    assert (found.effect, found.known, found.may_speculate) == (WRITE, False, False)
    assert found.footprint == Footprint(None, None, None)
    assert (found.upstream, found.timeout) == (None, 30.0)
    assert found.because == "unknown tool"


def test_a_known_read() -> None:
    found = EffectTable.parse(EXAMPLE).classify("get_order_details", {"order_id": "W1"})
    assert (found.effect, found.known, found.may_speculate) == (READ, True, True)
    assert found.footprint == Footprint(frozenset({Key("order:W1")}), frozenset(), "http://127.0.0.1:9100")
    assert found.upstream is not None
    assert found.upstream.http == "http://127.0.0.1:9100/tools/get_order_details"


def test_a_known_idempotent_call() -> None:
    found = EffectTable.parse(EXAMPLE).classify("set_address", {"order_id": "W1"})
    assert (found.effect, found.window, found.may_speculate) == (IDEMPOTENT, 86400.0, False)
    assert found.footprint == Footprint(frozenset(), frozenset({Key("order:W1")}), "mcp:shop")


def test_rules_set_the_class_and_the_footprint_follows_it() -> None:
    table = one_tool("effect: WRITE, reads: [a], rules: [{when: 'm == 1', effect: READ_ONLY}]")
    assert table.classify("t", {"m": 1}).footprint.declared
    assert not table.classify("t", {"m": 2}).footprint.declared
    assert table.classify("t", {"m": 1}).because == "rules[0] matches"
    assert table.classify("t", {"m": 2}).because == "pinned"


def test_a_rule_that_cannot_be_decided_says_so() -> None:
    table = one_tool("effect: READ_ONLY, rules: [{when: 'a > 1', effect: WRITE}]")
    found = table.classify("t", {"a": "x"})
    assert (found.effect, found.because) == (WRITE, "rules[0] cannot be decided")


@pytest.mark.parametrize("effect", list(EffectClass))
@pytest.mark.parametrize("open_world", [True, False])
@pytest.mark.parametrize("speculate", [True, False, None])
def test_who_may_speculate(effect: EffectClass, open_world: bool, speculate: bool | None) -> None:
    pin = "" if speculate is None else f", speculate: {str(speculate).lower()}"
    rules = f"rules: [{{when: 'm == 1', effect: {effect}}}, {{when: 'm == 2', effect: READ_ONLY}}]"
    table = one_tool(f"effect: WRITE, open_world: {str(open_world).lower()}, {rules}{pin}")
    expected = effect is READ and (speculate is True or (not open_world and speculate is None))
    assert table.classify("t", {"m": 1}).may_speculate == expected


def test_arguments_that_could_not_be_read() -> None:
    table = one_tool("effect: READ_ONLY, reads: [], rules: [{when: 'm == 1', effect: WRITE}]")
    found = table.classify("t", None)
    assert (found.effect, found.known, found.may_speculate) == (WRITE, True, False)
    assert not found.footprint.declared
    plain_read = one_tool("effect: READ_ONLY, reads: []").classify("t", None)
    assert (plain_read.effect, plain_read.may_speculate) == (READ, False)
    assert not plain_read.footprint.declared


@given(st.sampled_from(["get_order_details", "cancel_order", "set_address", "http_request", "x"]), plain)
def test_any_arguments_are_classified(tool: str, value: object) -> None:
    table = EffectTable.parse(EXAMPLE)
    found = table.classify(tool, {"order_id": value, "method": value})
    assert not found.may_speculate or found.effect is READ
    assert Footprint.from_json(json.loads(json.dumps(found.footprint.to_json()))) == found.footprint


def test_a_refusal_travels() -> None:
    refused = refusal("tools: {a: 1}")
    assert str(pickle.loads(pickle.dumps(refused))) == str(refused)
