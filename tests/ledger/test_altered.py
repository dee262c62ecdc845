"""A value with some fields changed is what ``dataclasses.replace`` makes of it."""

from dataclasses import dataclass, field, fields, replace

import pytest

from ledger.altered import altered
from ledger.state import Approval, Intent, StreamState


@dataclass(frozen=True, slots=True)
class Checked:
    number: int

    def __post_init__(self) -> None:
        assert self.number >= 0


@dataclass(frozen=True, slots=True)
class Counted:
    number: int
    twice: int = field(init=False, default=0)


def test_each_field_alone_is_changed_and_every_other_kept():
    for kind in (StreamState, Intent, Approval):
        value = kind(**{each.name: object() for each in fields(kind)})
        for each in fields(value):
            told = {each.name: object()}
            assert altered(value, **told) == replace(value, **told)


def test_a_field_that_is_none_is_refused():
    with pytest.raises(KeyError):
        altered(StreamState("t", "k"), sequence=1)


@pytest.mark.parametrize("value", [Checked(1), Counted(1)])
def test_a_class_that_computes_is_refused_and_not_made_without_its_checks(value):
    with pytest.raises(TypeError):
        altered(value, number=2)
