"""Values with some of their fields changed: what ``dataclasses.replace`` does, in a third of its time.

Each event makes new values of an intent and of its stream, and an intent has fifty fields: most of the time to fold an
event went into ``replace``.
"""

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["altered"]

if TYPE_CHECKING:
    # So that names and types of fields are checked as they are there.
    from dataclasses import replace as altered
else:

    def altered(value, /, **changes):
        """``value``, a dataclass with slots and without ``__post_init__``, in which these fields are what is said now.

        Raises KeyError for what is no field.
        """
        kind = type(value)
        read, places, writers = _PLANS.get(kind) or _plan(kind)
        values = list(read(value))
        for name, new in changes.items():
            values[places[name]] = new
        made = _NEW(kind)
        for write, each in zip(writers, values, strict=True):
            write(made, each)
        return made


_Plan = tuple[
    Callable[[object], tuple[object, ...]], dict[str, int], tuple[Callable[[object, object], None], ...]
]
_PLANS: dict[type, _Plan] = {}
_NEW = object.__new__


def _plan(kind: Any) -> _Plan:
    names = [field.name for field in fields(kind)]
    if hasattr(kind, "__post_init__") or not all(field.init for field in fields(kind)):
        raise TypeError(f"{kind.__name__} is more than its fields")
    places = {name: place for place, name in enumerate(names)}
    # The descriptors of the slots themselves: a frozen class refuses to be written through its attributes.
    writers = tuple([getattr(kind, name).__set__ for name in names])
    return _PLANS.setdefault(kind, (attrgetter(*names), places, writers))
