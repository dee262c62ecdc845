"""Which parts of arguments and results are not for every reader: ``mask: ["card_number", "$.customer.address.*"]``.

A bare name masks every member of that name, at any depth. A path from the root, ``$.a.b``, masks what stands there; ``*`` is
any member or element. Both hold for arguments and for results. A whole value is masked, never a part of a text.
"""

import re
from collections.abc import Iterable, Mapping
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


def masked(value: object, paths: Iterable[str]) -> object:
    """A copy of the JSON ``value`` with ``MASKED`` wherever one of ``paths`` leads."""
    names = frozenset(path for path in paths if not path.startswith(_ROOT))
    rooted = [tuple(path.removeprefix(_ROOT).split(".")) for path in paths if path.startswith(_ROOT)]
    return _masked(value, names, rooted)


def _masked(value: object, names: frozenset[str], paths: list[tuple[str, ...]]) -> object:
    if isinstance(value, Mapping):
        return {name: _member(name, member, names, paths) for name, member in value.items()}
    if isinstance(value, list):
        return [_member(str(place), element, names, paths) for place, element in enumerate(value)]
    return value


def _member(step: str, value: object, names: frozenset[str], paths: list[tuple[str, ...]]) -> object:
    left = [path[1:] for path in paths if path[0] in (step, "*")]
    if step in names or () in left:
        return MASKED
    return _masked(value, names, [path for path in left if path])
