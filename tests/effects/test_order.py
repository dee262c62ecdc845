"""Order and freshness (design.md, "Order, freshness, finality", rules 1 to 4)."""

from dataclasses import replace

import pytest

from effects.classes import EffectClass
from effects.footprint import Footprint, Key
from effects.order import CallView, earlier_terminal, overtaken_by

A = frozenset({Key("a")})
B = frozenset({Key("b")})
NONE: frozenset[Key] = frozenset()
UP = "http://127.0.0.1:1"


def read(at: int, keys: frozenset[Key] | None = A, **more: object) -> CallView:
    return view(at, EffectClass.READ_ONLY, Footprint(keys, NONE, UP), **more)


def write(at: int, keys: frozenset[Key] | None = A, **more: object) -> CallView:
    return view(at, EffectClass.WRITE, Footprint(NONE, keys, UP), **more)


def view(at: int, effect: EffectClass, touched: Footprint, **more: object) -> CallView:
    base = CallView("main", (at, 0), effect, touched, terminal=False, exposed=False)
    return replace(base, **more)


@pytest.mark.parametrize("strict", [True, False])
def test_a_write_waits_for_earlier_conflicting_calls_and_strictly_for_all_earlier_writes(
    strict: bool,
) -> None:
    assert not earlier_terminal(write(9), [read(1)], strict_writes=strict)
    assert earlier_terminal(write(9), [read(1, B)], strict_writes=strict)
    assert earlier_terminal(write(9), [read(1, terminal=True)], strict_writes=strict)
    assert not earlier_terminal(write(9), [write(1)], strict_writes=strict)
    assert earlier_terminal(write(9), [write(1, B)], strict_writes=strict) is not strict
    assert earlier_terminal(write(1), [write(9), read(9)], strict_writes=strict)


def test_a_read_waits_for_earlier_conflicting_writes_only() -> None:
    assert not earlier_terminal(read(9), [write(1)], strict_writes=True)
    assert earlier_terminal(read(9), [write(1, B), read(2), write(11)], strict_writes=True)
    assert earlier_terminal(read(9), [write(1, terminal=True)], strict_writes=True)


def test_calls_with_one_start_are_ordered_by_ordinal() -> None:
    first, second = write(3), replace(read(3), place=(3, 1))
    assert not earlier_terminal(second, [first], strict_writes=True)
    assert earlier_terminal(first, [second], strict_writes=True)


def test_a_read_waits_for_writes_of_other_branches_while_the_world_may_change_under_it() -> None:
    elsewhere = replace(write(50), branch="b2")
    assert earlier_terminal(read(9), [elsewhere], strict_writes=True)
    assert not earlier_terminal(read(9), [replace(elsewhere, exposed=True)], strict_writes=True)


def test_undeclared_footprints_of_one_upstream_conflict() -> None:
    assert not earlier_terminal(read(9, None), [write(1, B)], strict_writes=False)
    other = replace(write(1, None), footprint=Footprint(NONE, None, "http://127.0.0.1:2"))
    assert earlier_terminal(read(9, None), [other], strict_writes=False)
    assert not earlier_terminal(
        read(9, None), [replace(other, footprint=Footprint(NONE, None, None))], strict_writes=False
    )


def test_an_answer_is_overtaken_by_the_latest_settling_after_its_dispatch() -> None:
    answered = read(9, dispatched_seq=20)
    assert (
        overtaken_by(answered, [write(1, settled_seq=19), write(2, settled_seq=25), write(3, settled_seq=30)])
        == 30
    )
    assert overtaken_by(answered, [write(1, settled_seq=19)]) is None
    assert overtaken_by(answered, [write(11, settled_seq=25)]) is None
    assert overtaken_by(answered, [write(1, B, settled_seq=25)]) is None
    assert overtaken_by(answered, [replace(write(11, settled_seq=25), branch="b2")]) == 25


def test_a_read_without_a_dispatch_has_no_answer_to_judge() -> None:
    with pytest.raises(ValueError, match="no answer"):
        overtaken_by(read(1), [])
