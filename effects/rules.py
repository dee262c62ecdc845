"""Conditions of an effect table, and the rules that set a call's class by them.

A condition is a CEL expression (https://cel.dev). Its names are the call's top-level arguments, and ``arguments`` is the
object of all of them: ``method == 'GET'``, ``has(arguments.force)``, ``arguments['X-Kind'] == 'a'``. Two names are
kept for what is no argument: ``now``, the time of the decision, and ``result``, the content of an answer (an
argument called so is ``arguments['now']``). Rules, approvals and probes speak this one language; a rule knows neither
name, an approval ``now``, a probe both.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Protocol, Self

from pydantic import BaseModel, ConfigDict, PlainSerializer, PlainValidator

from effects.classes import EffectClass, highest

MAX_SOURCE = 2000
"""Longest condition, in characters."""

MAX_WORK = 1_000_000
"""Bound on (values + characters in the arguments), for a condition without a comprehension."""

MAX_LOOP_WORK = 100_000
"""Bound on the same, to the power of the number of comprehensions."""

MAX_DEPTH = 64
"""Deepest nesting of arguments that is handed to the evaluator: its recursion is not guarded."""

_CONVERSIONS = frozenset({"int", "uint", "double", "string", "bytes", "type", "timestamp", "duration", "dyn"})
_TEXT_FUNCTIONS = frozenset({"size", "matches", "startsWith", "endsWith", "contains"})
_TIME_FUNCTIONS = frozenset(
    f"get{part}"
    for part in (
        *("FullYear", "Month", "Date", "DayOfMonth", "DayOfWeek", "DayOfYear"),
        *("Hours", "Minutes", "Seconds", "Milliseconds"),
    )
)
_FUNCTIONS = _CONVERSIONS | _TEXT_FUNCTIONS | _TIME_FUNCTIONS
_TYPES = frozenset({"int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type"})
_KEPT = frozenset({"now", "result"})
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_QUADRATIC = re.compile(r"\.\s*(?:map|filter)\s*\(")
_COMPREHENSION = re.compile(r"\.\s*(?:all|exists|exists_one|existsOne)\s*\(")
_UNDEFINED = re.compile(r"Undefined variable or function: '([^']*)'")


class Verdict(StrEnum):
    """What a condition says about one call.

    ``MISSING``: it needs an argument, or a member of one, that is not there. ``UNDECIDABLE``: it fails on the
    arguments that are there, gives no boolean, or would cost too much.
    """

    TRUE = "true"
    FALSE = "false"
    MISSING = "missing"
    UNDECIDABLE = "undecidable"


class Program(Protocol):
    """What a condition is compiled to."""

    def execute(self, context: dict[str, Any]) -> object:
        """Its value, the names being in ``context``."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled condition; equal to another of the same source."""

    source: str
    names: frozenset[str] = field(compare=False)
    _program: Program = field(compare=False, repr=False)

    @classmethod
    def compile(cls, source: object) -> Self:
        """Compile ``source``.

        Raises ValueError if it is no string, too long, no CEL, or calls a function that does not exist.
        ``map`` and ``filter`` are refused as well: their cost grows with the square of a list.
        """
        if not isinstance(source, str) or not source.strip():
            raise ValueError("a condition is a CEL expression, as a string")
        if len(source) > MAX_SOURCE:
            raise ValueError(f"a condition has at most {MAX_SOURCE} characters")
        # Loaded for the first condition: it brings a command line of its own, which is slow to load.
        import cel

        try:
            program = cel.compile(source)
        except ValueError as error:
            raise ValueError(_in_short(error)) from None
        names = frozenset(program.variables())
        functions = {name for name in program.functions() if _IDENTIFIER.fullmatch(name)}
        if unknown := functions - _FUNCTIONS:
            raise ValueError(f"unknown function {min(unknown)!r}")
        if _QUADRATIC.search(source):
            raise ValueError("map and filter are not available; use all, exists or exists_one")
        if (types := names & _TYPES) and "type" not in functions:
            name = min(types)
            raise ValueError(f"{name!r} is a type in CEL; write arguments[{name!r}] for the argument")
        return cls(source, names, program)

    def judge(
        self, arguments: Mapping[str, object], *, now: datetime | None = None, **known: object
    ) -> Verdict:
        """What the condition says about these arguments (JSON values). Never raises on account of them.

        ``now``: aware; ``result=``: the content of an answer, a JSON value. The name of what is not given is missing.
        """
        variables: dict[str, Any] = {
            name: arguments[name]
            for name in self.names
            if name in arguments and name not in _TYPES and name not in _KEPT
        }
        if "arguments" in self.names:
            variables["arguments"] = dict(arguments)
        if "now" in self.names and now is not None:
            # CEL reads the parts of a time in UTC; the evaluator would in whatever zone it is given.
            variables["now"] = now.astimezone(UTC)
        if "result" in self.names and "result" in known:
            variables["result"] = known["result"]
        if not self._affordable(variables):
            return Verdict.UNDECIDABLE
        try:
            result = self._program.execute(variables)
        except KeyError:
            return Verdict.MISSING
        except RuntimeError as error:
            # The evaluator says "undefined" also of a function that does not take the type it is given.
            undefined = _UNDEFINED.match(str(error))
            lacking = undefined is not None and undefined[1] in self.names - variables.keys()
            return Verdict.MISSING if lacking else Verdict.UNDECIDABLE
        except Exception:  # noqa: BLE001 - whatever it stumbles over, the caller needs a verdict
            return Verdict.UNDECIDABLE
        if not isinstance(result, bool):
            return Verdict.UNDECIDABLE
        return Verdict.TRUE if result else Verdict.FALSE

    def _affordable(self, variables: Mapping[str, object]) -> bool:
        size = _size(variables)
        if size is None or size > MAX_WORK:
            return False
        loops = len(_COMPREHENSION.findall(self.source))
        return loops == 0 or size**loops <= MAX_LOOP_WORK


CompiledCondition = Annotated[
    Condition, PlainValidator(Condition.compile), PlainSerializer(lambda it: it.source)
]
"""A condition as a field of the table: its source in the document, compiled in memory."""


def _rule_condition(source: object) -> Condition:
    condition = Condition.compile(source)
    if foreign := condition.names & _KEPT:
        raise ValueError(
            f"{min(foreign)!r} is not known when a call is classified: a class belongs to tool and arguments"
        )
    return condition


class Rule(BaseModel):
    """An operator's rule: calls whose arguments meet ``when`` are of class ``effect``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    when: Annotated[Condition, PlainValidator(_rule_condition), PlainSerializer(lambda it: it.source)]
    effect: EffectClass


@dataclass(frozen=True, slots=True)
class Ruled:
    """The class that rules give, and the verdict of each rule in its order (empty: arguments that nobody
    could read).
    """

    effect: EffectClass
    verdicts: tuple[Verdict, ...]


def rule(pinned: EffectClass, rules: tuple[Rule, ...], arguments: Mapping[str, object] | None) -> Ruled:
    """The class of a call on a tool pinned to ``pinned``.

    No rule matching: the pinned class; several: the highest of theirs. A rule whose argument is missing does
    not match. A rule that cannot be decided never lowers: it counts as matching where that is higher.
    ``arguments`` None (they could not be read): the highest of all.
    """
    if arguments is None:
        return Ruled(highest(pinned, *(one.effect for one in rules)), ())
    verdicts = tuple(one.when.judge(arguments) for one in rules)
    matching = [one.effect for one, said in zip(rules, verdicts, strict=True) if said is Verdict.TRUE]
    open_ones = [one.effect for one, said in zip(rules, verdicts, strict=True) if said is Verdict.UNDECIDABLE]
    settled = highest(*matching) if matching else pinned
    return Ruled(highest(settled, *open_ones), verdicts)


def _size(value: object) -> int | None:
    """Values and characters in ``value``; None if it is nested too deeply. Without recursion."""
    size = 0
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[object] = []
        for item in level:
            size += 1
            if isinstance(item, str):
                size += len(item)
            elif isinstance(item, Mapping):
                size += sum(map(len, item))
                below += item.values()
            elif isinstance(item, list | tuple):
                below += item
        if not below:
            return size
        level = below
    return None


def _in_short(error: ValueError) -> str:
    found = re.search(r"ERROR: <input>:(\d+):(\d+): ([^\n]*)", str(error))
    return f"no CEL: line {found[1]}, column {found[2]}: {found[3]}" if found else f"no CEL: {error}"
