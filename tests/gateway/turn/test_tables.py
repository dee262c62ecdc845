"""What a table in force remembers of the calls that it judged."""

import gc
from random import Random

import pytest

from effects.arguments import MAX_ARGUMENTS, TOO_LONG
from effects.table import Classification, EffectTable
from gateway.turn import tables
from gateway.turn.tables import TableInForce

TABLE = EffectTable.parse("tools: {t: {effect: WRITE, upstream: {http: 'http://127.0.0.1:9/t'}}}")


def raw(size: int, name: str = "a") -> str:
    """Arguments of so many characters."""
    empty = f'{{"{name}":""}}'
    return f'{{"{name}":"{"x" * (size - len(empty))}"}}'


def alive(judged: list[int]) -> int:
    """How many of these classifications are still kept."""
    gc.collect()
    return len({id(one) for one in gc.get_objects() if type(one) is Classification} & set(judged))


def test_a_call_is_judged_once() -> None:
    force = TableInForce(1, TABLE)
    assert force.classify("t", "{}") is force.classify("t", "{}")


@pytest.mark.parametrize(("most", "size", "kept"), [(1000, 100, 10), (1000, 501, 1), (10**9, 100, 50)])
def test_no_more_characters_are_remembered_than_are_told(
    monkeypatch: pytest.MonkeyPatch, most: int, size: int, kept: int
) -> None:
    monkeypatch.setattr(tables, "REMEMBERED_CHARACTERS", most)
    force = TableInForce(1, TABLE)
    judged = [id(force.classify("t", raw(size, name=f"{n:04}"))) for n in range(50)]
    assert alive(judged) == kept


def test_arguments_that_are_too_long_are_not_remembered() -> None:
    force = TableInForce(1, TABLE)
    long = raw(MAX_ARGUMENTS + 1)
    assert force.classify("t", long).fault is TOO_LONG
    assert force.classify("t", long) is not force.classify("t", long)
    longest = raw(MAX_ARGUMENTS)
    assert force.classify("t", longest) is force.classify("t", longest)


def test_what_was_forgotten_is_judged_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "REMEMBERED_CHARACTERS", 500)
    force, random = TableInForce(1, TABLE), Random(1)
    for _ in range(500):
        asked = raw(random.randint(20, 200))
        assert force.classify("t", asked) == TABLE.classify("t", tables.arguments(asked))
