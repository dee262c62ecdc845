"""Which parts of arguments and results are not for every reader: ``mask: ["card_number", "$.customer.address.*"]``.

A bare name masks every member of that name, at any depth. A path from the root, ``$.a.b``, masks what stands there; ``*`` is
any member or element. Both hold for arguments and for results; in texts see ``effects.masked_texts``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

MASKED = "[masked]"
"""What stands in the place of a masked value."""

_NAME = re.compile(r"[^\s.$*\x00-\x1f\x7f]{1,128}\Z")
_ROOT = "$."


def _checked(path: str) -> str:
    steps = path.removeprefix(_ROOT).split(".") if path.startswith(_ROOT) else [path]
    rooted = path.startswith(_ROOT)
    if not all(_NAME.match(step) or (rooted and step == "*") for step in steps):
        raise ValueError("a mask is a name, or a path from the root like $.customer.*.name")
    return path


MaskPaths = Annotated[tuple[Annotated[str, AfterValidator(_checked)], ...], Field(max_length=100)]


@dataclass(frozen=True, slots=True)
class Places:
    """Where masks lead from some place: ``names`` wherever they stand, ``paths`` by what is left of them."""

    names: frozenset[str]
    paths: tuple[tuple[str, ...], ...]

    def within(self, step: str) -> "Places | None":
        """The places within a member or element; None: it is masked itself."""
        left = [path[1:] for path in self.paths if path[0] in (step, "*")]
        if step in self.names or () in left:
            return None
        return Places(self.names, tuple(left))

    def and_from_the_root(self, root: "Places") -> "Places":
        """These, and those of ``root``: a document begins within another."""
        return Places(self.names, tuple(dict.fromkeys((*self.paths, *root.paths))))

    @property
    def last_names(self) -> frozenset[str]:
        """What the masked members are called."""
        last = [
            next((step for step in reversed(path) if step != "*" and not step.isdecimal()), None)
            for path in self.paths
        ]
        return self.names | {name for name in last if name is not None}


def places_of(paths: Iterable[str]) -> Places:
    """Where ``paths`` lead from the root."""
    paths = tuple(paths)
    return Places(
        frozenset(path for path in paths if not path.startswith(_ROOT)),
        tuple(tuple(path.removeprefix(_ROOT).split(".")) for path in paths if path.startswith(_ROOT)),
    )


def masked(value: object, paths: Iterable[str]) -> object:
    """A copy of the JSON ``value`` with ``MASKED`` wherever one of ``paths`` leads; texts stay whole
    (``effects.masked_texts`` looks into them)."""
    return _masked(value, places_of(paths))


def _masked(value: object, places: Places) -> object:
    if isinstance(value, Mapping):
        return {name: _member(name, member, places) for name, member in value.items()}
    if isinstance(value, list):
        return [_member(str(place), element, places) for place, element in enumerate(value)]
    return value


def _member(step: str, value: object, places: Places) -> object:
    within = places.within(step)
    return MASKED if within is None else _masked(value, within)
