from itertools import product

import pytest

from effects.classes import EffectClass, effect_class, highest

READ, IDEMPOTENT, WRITE = EffectClass.READ_ONLY, EffectClass.IDEMPOTENT, EffectClass.WRITE
ORDER = [READ, IDEMPOTENT, WRITE]


def test_the_order_is_that_of_the_rank_not_of_the_spelling() -> None:
    assert sorted([WRITE, READ, IDEMPOTENT]) == ORDER
    assert sorted(map(str, ORDER)) != [str(effect) for effect in ORDER]  # the trap that this guards against
    for one, other in product(ORDER, repeat=2):
        assert (one < other) == (one.rank < other.rank)
        assert (one <= other) == (one.rank <= other.rank)
        assert (one > other) == (one.rank > other.rank)
        assert (one >= other) == (one.rank >= other.rank)


@pytest.mark.parametrize("compare", ["__lt__", "__le__", "__gt__", "__ge__"])
def test_comparing_with_a_spelling_is_an_error(compare: str) -> None:
    with pytest.raises(TypeError, match="effect classes only"):
        getattr(READ, compare)("WRITE")


def test_the_spelling_is_the_value() -> None:
    assert f"{READ}" == "READ_ONLY"
    assert READ == "READ_ONLY"
    assert {"READ_ONLY": 1}[READ] == 1


def test_the_highest_decides() -> None:
    for one, two, three in product(ORDER, repeat=3):
        assert highest(one, two, three).rank == max(one.rank, two.rank, three.rank)
    assert highest(READ) is READ


@pytest.mark.parametrize("name", ["READ_ONLY", "IDEMPOTENT", "WRITE"])
def test_a_class_is_known_by_its_exact_name(name: str) -> None:
    assert effect_class(name).value == name


@pytest.mark.parametrize("name", [None, "", "read_only", "READ_ONLY ", "READ", 0, ["READ_ONLY"], {}])
def test_whatever_is_unknown_is_a_write(name: object) -> None:
    assert effect_class(name) is WRITE
