import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effects.classes import EffectClass, highest
from effects.rules import MAX_DEPTH, MAX_SOURCE, MAX_WORK, Condition, Rule, Verdict, rule

READ, IDEMPOTENT, WRITE = EffectClass.READ_ONLY, EffectClass.IDEMPOTENT, EffectClass.WRITE

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(
    st.sampled_from(["method", "force", "amount", "body", "arguments", "string"]), values
)


def judge(source: str, **given_arguments: object) -> Verdict:
    return Condition.compile(source).judge(given_arguments)


def rules(*pairs: tuple[str, EffectClass]) -> tuple[Rule, ...]:
    return tuple(Rule.model_validate({"when": when, "effect": effect}) for when, effect in pairs)


@pytest.mark.parametrize(
    ("source", "given_arguments", "verdict"),
    [
        ("method == 'GET'", {"method": "GET"}, Verdict.TRUE),
        ("method == 'GET'", {"method": "get"}, Verdict.FALSE),
        ("method == 'GET'", {"method": None}, Verdict.FALSE),
        ("method == 'GET'", {}, Verdict.MISSING),
        ("body.kind == 1", {"body": {}}, Verdict.MISSING),
        ("amount > 100", {"amount": 100.5}, Verdict.TRUE),
        ("amount > 100", {"amount": "150"}, Verdict.UNDECIDABLE),
        ("amount > 100", {"amount": None}, Verdict.UNDECIDABLE),
        ("amount / 0 > 1", {"amount": 1}, Verdict.UNDECIDABLE),
        ("xs[3] == 1", {"xs": [1]}, Verdict.UNDECIDABLE),
        ("method", {"method": "GET"}, Verdict.UNDECIDABLE),
        ("amount", {"amount": 1}, Verdict.UNDECIDABLE),
        ("name == 'a'", {"name": "\ud800"}, Verdict.UNDECIDABLE),
        # Of a function that does not take the type, the evaluator says "undefined" as well.
        ("name.startsWith('a')", {"name": 1}, Verdict.UNDECIDABLE),
        ("xs.all(x, x.startsWith('a'))", {"xs": [1]}, Verdict.UNDECIDABLE),
        ("xs.exists(x, x > 1)", {"xs": [1, 2]}, Verdict.TRUE),
        # CEL decides "or" and "and" without the part that fails, where it can.
        ("method == 'GET' || force", {"method": "GET"}, Verdict.TRUE),
        ("force || method == 'GET'", {"method": "GET"}, Verdict.TRUE),
        ("method == 'GET' && force", {"method": "PUT"}, Verdict.FALSE),
        ("method == 'GET' && force", {"method": "GET"}, Verdict.MISSING),
        ("has(arguments.force)", {}, Verdict.FALSE),
        ("arguments['x-kind'] == 1", {"x-kind": 1}, Verdict.TRUE),
        ("true", {}, Verdict.TRUE),
    ],
)
def test_verdicts(source: str, given_arguments: dict[str, object], verdict: Verdict) -> None:
    assert Condition.compile(source).judge(given_arguments) is verdict


def test_an_argument_cannot_pass_for_the_arguments_or_for_a_type() -> None:
    assert judge("has(arguments.force)", arguments={}, force=1) is Verdict.TRUE
    assert judge("type(x) == string", x="a", string="int") is Verdict.TRUE


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "as a string"),
        (None, "as a string"),
        (True, "as a string"),
        ("method ==", "line 1, column 10"),
        ("method.upperAscii() == 'GET'", "unknown function 'upperAscii'"),
        ("xs.map(x, x).size() > 0", "map and filter"),
        ("xs . filter (x, x)", "map and filter"),
        ("list == 'a'", "is a type in CEL"),
        ("a == " + "1 + " * MAX_SOURCE + "1", "at most"),
        ("(" * 900 + "1" + ")" * 900, "no CEL"),
    ],
)
def test_conditions_that_are_refused(source: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Condition.compile(source)


@pytest.mark.parametrize("name", ["now", "result"])
def test_a_rule_knows_neither_the_time_nor_a_result(name: str) -> None:
    assert Condition.compile(f"{name} == 1").names == {name}
    with pytest.raises(ValueError, match="belongs to tool and arguments"):
        rules((f"{name} == 1", READ))


def test_conditions_are_equal_by_their_source() -> None:
    assert Condition.compile("a == 1") == Condition.compile("a == 1")
    assert Condition.compile("a == 1") != Condition.compile("a == 2")


def test_no_rule_matching_leaves_the_pinned_class() -> None:
    for pinned in EffectClass:
        assert rule(pinned, rules(("a == 1", READ), ("a == 2", WRITE)), {"a": 3}).effect is pinned
        assert rule(pinned, (), {"a": 3}).effect is pinned


def test_a_matching_rule_raises_or_lowers() -> None:
    assert rule(WRITE, rules(("a == 1", READ)), {"a": 1}).effect is READ
    assert rule(READ, rules(("a == 1", WRITE)), {"a": 1}).effect is WRITE
    assert rule(READ, rules(("a == 1", WRITE)), {"a": 1}).verdicts == (Verdict.TRUE,)


def test_of_several_the_highest() -> None:
    several = rules(("a == 1", READ), ("a < 2", IDEMPOTENT), ("a > 5", WRITE))
    assert rule(WRITE, several, {"a": 1}).effect is IDEMPOTENT
    assert rule(WRITE, several[::-1], {"a": 1}).effect is IDEMPOTENT


def test_a_missing_argument_does_not_match() -> None:
    assert rule(WRITE, rules(("a == 1", READ)), {}).effect is WRITE
    assert rule(READ, rules(("a == 1", WRITE)), {}).effect is READ


def test_what_cannot_be_decided_never_lowers() -> None:
    assert rule(WRITE, rules(("a > 1", READ)), {"a": "x"}).effect is WRITE
    assert rule(READ, rules(("a > 1", WRITE)), {"a": "x"}).effect is WRITE
    # One that lowers beside one that cannot be decided.
    assert rule(WRITE, rules(("b", READ), ("a > 1", IDEMPOTENT)), {"a": "x", "b": True}).effect is IDEMPOTENT


def test_unreadable_arguments_get_the_highest_class() -> None:
    assert rule(READ, rules(("a == 1", WRITE)), None).effect is WRITE
    assert rule(WRITE, rules(("a == 1", READ)), None).effect is WRITE
    assert rule(READ, (), None).effect is READ


@given(st.sampled_from(list(EffectClass)), arguments)
def test_whatever_the_arguments_a_class_comes_out(
    pinned: EffectClass, given_arguments: dict[str, object]
) -> None:
    several = rules(
        ("method == 'GET'", READ),
        ("amount > 100 && !force", WRITE),
        ("body.kind in ['a', 'b'] || has(arguments.string)", IDEMPOTENT),
        ("body.all(x, x.matches(method))", READ),
    )
    ruled = rule(pinned, several, given_arguments)
    matching = [one.effect for one, said in zip(several, ruled.verdicts, strict=True) if said is Verdict.TRUE]
    assert ruled.effect >= (highest(*matching) if matching else pinned)


def test_the_work_is_bounded() -> None:
    assert judge("size(x) > 1", x="a" * (MAX_WORK - 10)) is Verdict.TRUE
    assert judge("size(x) > 1", x="a" * MAX_WORK) is Verdict.UNDECIDABLE
    once, twice = "xs.all(x, x >= 0)", "xs.all(x, xs.all(y, y >= 0))"
    assert judge(once, xs=[1] * 50_000) is Verdict.TRUE
    assert judge(twice, xs=[1] * 50_000) is Verdict.UNDECIDABLE
    assert judge(twice, xs=[1] * 300) is Verdict.TRUE
    # Only what the condition names is weighed.
    assert judge("size(x) > 1", x="ab", other="a" * MAX_WORK) is Verdict.TRUE
    started = time.monotonic()
    assert judge("x.matches('(a+)+$')", x="a" * 50_000 + "!") is Verdict.FALSE
    assert time.monotonic() - started < 5


def test_deep_arguments_do_not_reach_the_evaluator() -> None:
    def nested(depth: int) -> object:
        value: object = 1
        for _ in range(depth):
            value = [value]
        return value

    assert judge("x == 1", x=nested(MAX_DEPTH - 1)) is Verdict.FALSE
    # The evaluator's recursion would end the process.
    assert judge("x == 1", x=nested(200_000)) is Verdict.UNDECIDABLE
