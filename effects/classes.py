"""Effect classes: what a call may do to the world, and so how long it must wait (design.md, "Effect classes
at the gate").
"""

from enum import StrEnum


class EffectClass(StrEnum):
    """READ_ONLY < IDEMPOTENT < WRITE: the higher the class, the more must be decided before the call may go.

    Comparisons follow ``rank``; comparing with anything but an EffectClass raises TypeError, because the
    order of the spellings is another one. Equality stays that of the spelling.
    """

    READ_ONLY = "READ_ONLY"
    IDEMPOTENT = "IDEMPOTENT"
    WRITE = "WRITE"

    @property
    def rank(self) -> int:
        """0 for READ_ONLY, 1 for IDEMPOTENT, 2 for WRITE."""
        return _RANKS[self.value]

    def __lt__(self, other: str) -> bool:
        """Whether this class is lower."""
        return self.rank < _rank_of(other)

    def __le__(self, other: str) -> bool:
        """Whether this class is lower or the same."""
        return self.rank <= _rank_of(other)

    def __gt__(self, other: str) -> bool:
        """Whether this class is higher."""
        return self.rank > _rank_of(other)

    def __ge__(self, other: str) -> bool:
        """Whether this class is higher or the same."""
        return self.rank >= _rank_of(other)


_RANKS = {"READ_ONLY": 0, "IDEMPOTENT": 1, "WRITE": 2}


def highest(first: EffectClass, *others: EffectClass) -> EffectClass:
    """The highest of the given classes: what decides where several apply."""
    return max((first, *others), key=lambda effect: effect.rank)


def effect_class(name: object) -> EffectClass:
    """The class that ``name`` spells; WRITE for whatever is not exactly one of the three, None included."""
    return EffectClass(name) if isinstance(name, str) and name in _RANKS else EffectClass.WRITE


def _rank_of(other: object) -> int:
    if not isinstance(other, EffectClass):
        raise TypeError(f"an effect class compares with effect classes only, not with {type(other).__name__}")
    return other.rank
