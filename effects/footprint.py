"""Footprints: the resource keys that a call reads and writes, made from its arguments (design.md, "Order,
freshness, finality").

Keys are global names: two calls that share one conflict, whatever their upstreams. A footprint that is not
declared overlaps everything of its upstream.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Self

from effects.canonical import canonical
from effects.classes import EffectClass
from effects.errors import FootprintRefused
from effects.strict_json import JSONRefused

MAX_KEYS = 1024
"""Most keys that one template is filled to; lists that would make more do not fill it."""

_PIECE = re.compile(r"\{([^{}]+)\}|([{}])")
_SPELLING = re.compile(r"((?:[^\\*]|\\[\\*])*)(\*?)", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """A resource key; with ``prefix`` it stands for every key whose text begins with ``text``.

    Spelled (``str``, and in events) with ``\\`` before each ``\\`` and ``*`` of the text; a bare ``*`` at
    the end marks a prefix. So ``order:*`` is every order and ``order:\\*`` the one order named ``*``.
    """

    text: str
    prefix: bool = False

    def __str__(self) -> str:
        """The spelling; ``Key.parse`` reads it back."""
        return self.text.replace("\\", "\\\\").replace("*", "\\*") + ("*" if self.prefix else "")

    @classmethod
    def parse(cls, spelling: str) -> Self:
        """The key spelled so. Raises ``FootprintRefused`` if ``spelling`` is ``str`` of no key."""
        if "*" not in spelling and "\\" not in spelling:
            # Nearly all are, and each is read again whenever its event is folded.
            return cls(spelling)
        found = _SPELLING.fullmatch(spelling)
        if found is None:
            raise FootprintRefused(f"{spelling!r} spells no key: a * is escaped, or stands at the end")
        return cls(re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL), bool(found[2]))

    def meets(self, other: "Key") -> bool:
        """Whether some resource is named by both keys."""
        if self.prefix and other.text.startswith(self.text):
            return True
        if other.prefix and self.text.startswith(other.text):
            return True
        return self.text == other.text


@dataclass(frozen=True, slots=True)
class Template:
    """How a tool's keys are spelled: ``order:{order_id}``, ``file:{path}/*``, ``order:*``.

    ``{name}`` stands for the top-level argument ``name``; a ``*`` stands only at the end and makes the keys
    prefixes. ``pieces``: literal texts and names in turn, a literal first and last.
    """

    source: str
    pieces: tuple[str, ...]
    prefix: bool

    @classmethod
    def parse(cls, source: str) -> Self:
        """Read a template. Raises ValueError for an empty one, a brace that names no argument, a ``*``
        elsewhere.
        """
        if not source:
            raise ValueError("a key is not empty")
        prefix = source.endswith("*")
        pieces: list[str] = []
        at = 0
        body = source[:-1] if prefix else source
        for found in _PIECE.finditer(body):
            if found[2]:
                raise ValueError(f"{source!r}: braces come in pairs and hold the name of an argument")
            pieces += [body[at : found.start()], found[1]]
            at = found.end()
        pieces.append(body[at:])
        if any("*" in literal for literal in pieces[::2]):
            raise ValueError(f"{source!r}: a * stands only at the end of a key")
        return cls(source, tuple(pieces), prefix)

    def __str__(self) -> str:
        """The template as written."""
        return self.source

    def fill(self, arguments: Mapping[str, object]) -> frozenset[Key] | None:
        """The keys for these arguments: one for each combination of the elements of list arguments.

        None where the arguments do not fill the template: one is missing, null, an object, a list that is
        empty or holds anything but strings, numbers and booleans, or together they make more than
        ``MAX_KEYS`` keys. Numbers and booleans are spelled by canonical JSON; a ``*`` that comes from an
        argument is an ordinary character.
        """
        literals, names = self.pieces[::2], self.pieces[1::2]
        places = tuple(dict.fromkeys(names))
        choices = [_spellings(arguments.get(name)) for name in places]
        if not all(choices) or prod(map(len, choices)) > MAX_KEYS:
            return None
        keys = set()
        for chosen in product(*choices):
            values = dict(zip(places, chosen, strict=True))
            filled = "".join(literal + values[name] for literal, name in zip(literals, names, strict=False))
            keys.add(Key(filled + literals[-1], self.prefix))
        return frozenset(keys)


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a call touches. ``reads`` or ``writes`` None: undeclared. ``upstream``: origin of the tool's URL
    (``http://host:port``) or ``mcp:<server>``; None: unknown.
    """

    reads: frozenset[Key] | None
    writes: frozenset[Key] | None
    upstream: str | None

    @property
    def declared(self) -> bool:
        """Whether the keys say all that the call touches."""
        return self.reads is not None and self.writes is not None

    @property
    def keys(self) -> frozenset[Key]:
        """All keys named, read or written."""
        return (self.reads or frozenset()) | (self.writes or frozenset())

    def to_json(self) -> dict[str, list[str] | str | None]:
        """``{"reads": [...] | null, "writes": [...] | null, "upstream": ... | null}``, keys spelled and
        sorted.
        """
        return {"reads": _spelled(self.reads), "writes": _spelled(self.writes), "upstream": self.upstream}

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Read what ``to_json`` wrote. Raises ``FootprintRefused`` for anything else."""
        if not isinstance(value, Mapping) or set(value) != {"reads", "writes", "upstream"}:
            raise FootprintRefused("a footprint is an object of reads, writes and upstream")
        upstream = value["upstream"]
        if upstream is not None and not isinstance(upstream, str):
            raise FootprintRefused("upstream is a string or null")
        return cls(_parsed(value["reads"]), _parsed(value["writes"]), upstream)


def footprint(
    effect: EffectClass,
    reads: Sequence[Template] | None,
    writes: Sequence[Template] | None,
    upstream: str | None,
    arguments: Mapping[str, object] | None,
) -> Footprint:
    """The footprint of a call of class ``effect`` on a tool with these templates (None: not given; ``()``:
    none).

    Undeclared if a READ_ONLY call's tool gives no ``reads``, any other's no ``writes``, if a template is not
    filled, or if ``arguments`` is None (they could not be read). The list that the class does not need
    counts as empty when absent.
    """
    is_read = effect is EffectClass.READ_ONLY
    return Footprint(
        _fill_all(reads, arguments, needed=is_read),
        _fill_all(writes, arguments, needed=not is_read),
        upstream,
    )


def overlaps(one: Footprint, other: Footprint) -> bool:
    """Whether two calls may touch a common resource, read or written. Symmetric.

    An unknown upstream overlaps everything; an undeclared footprint everything of the same upstream, what
    declares no keys included. Otherwise the keys decide.
    """
    if one.upstream is None or other.upstream is None:
        return True
    if one.upstream == other.upstream and not (one.declared and other.declared):
        return True
    return _share_key(one.keys, other.keys)


def conflicts(effect: EffectClass, one: Footprint, other_effect: EffectClass, other: Footprint) -> bool:
    """Whether the order of two calls matters: their footprints overlap and at least one is not READ_ONLY."""
    both_read = effect is EffectClass.READ_ONLY and other_effect is EffectClass.READ_ONLY
    return not both_read and overlaps(one, other)


def _share_key(some: frozenset[Key], others: frozenset[Key]) -> bool:
    if not some.isdisjoint(others):
        return True
    return _prefix_meets(some, others) or _prefix_meets(others, some)


def _prefix_meets(some: frozenset[Key], others: frozenset[Key]) -> bool:
    """Whether a prefix among ``some`` begins one of the ``others``. A model may name thousands of keys: not each with each."""
    prefixes = [key.text for key in some if key.prefix]
    if not prefixes:
        return False
    texts = sorted(key.text for key in others)
    places = ((text, bisect_left(texts, text)) for text in prefixes)
    return any(at < len(texts) and texts[at].startswith(text) for text, at in places)


def _fill_all(
    templates: Sequence[Template] | None, arguments: Mapping[str, object] | None, *, needed: bool
) -> frozenset[Key] | None:
    if arguments is None or (templates is None and needed):
        return None
    keys: set[Key] = set()
    for template in templates or ():
        filled = template.fill(arguments)
        if filled is None:
            return None
        keys |= filled
    return frozenset(keys)


def _spellings(argument: object) -> list[str]:
    """The texts that an argument puts into a key; empty if it cannot."""
    if not isinstance(argument, list | tuple):
        argument = [argument]
    texts = [_scalar(element) for element in argument]
    return [] if None in texts else [text for text in texts if text is not None]


def _scalar(value: object) -> str | None:
    if isinstance(value, str):
        # A NUL cannot be kept in a database, so a key with one fills nothing: the footprint is undeclared.
        return None if "\0" in value else value
    if not isinstance(value, bool | int | float):
        return None
    try:
        return canonical(value).decode()
    except JSONRefused:
        return None


def _spelled(keys: Iterable[Key] | None) -> list[str] | None:
    return None if keys is None else sorted(map(str, keys))


def _parsed(value: object) -> frozenset[Key] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise FootprintRefused("reads and writes are lists of keys, or null")
    if not all(isinstance(spelling, str) for spelling in value):
        raise FootprintRefused("a key is a string")
    return frozenset(Key.parse(spelling) for spelling in value)
