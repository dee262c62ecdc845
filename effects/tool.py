"""One tool of an effect table (interface.md, "Tools (upstreams)")."""

from typing import Annotated, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    PlainValidator,
    StrictBool,
    StrictInt,
    model_validator,
)

from effects.approval import DEFAULT_EXPIRY, ApprovalRule
from effects.arguments import ArgumentSchema
from effects.classes import EffectClass, highest
from effects.durations import format_duration, parse_duration
from effects.footprint import Template
from effects.limits import Limits
from effects.masks import MaskPaths
from effects.rules import CompiledCondition, Rule
from effects.upstream import Upstream

DEFAULT_TIMEOUT = 30.0
"""Seconds that a call may take where the table does not say (design.md, "Dispatch")."""

DEFAULT_MAX_RESULT = 1 << 20
"""Bytes of an answer that are taken where the table does not say."""

LARGEST_MAX_RESULT = 16 << 20
"""Most bytes that a table may ask for: an answer is one event of the ledger."""


def _template(source: object) -> Template:
    if not isinstance(source, str):
        raise ValueError("a key is a string")
    return Template.parse(source)


Seconds = Annotated[
    float, PlainValidator(parse_duration), PlainSerializer(format_duration, when_used="unless-none")
]
Schema = Annotated[
    ArgumentSchema, PlainValidator(ArgumentSchema.compile), PlainSerializer(lambda it: it.document)
]
Templates = tuple[Annotated[Template, PlainValidator(_template), PlainSerializer(str)], ...]


class Probe(BaseModel):
    """How to find out whether a call in doubt happened: call ``tool`` with ``arguments`` (``{name}`` in
    their texts stands for an argument of the call) and judge ``happened`` over its ``result``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    happened: CompiledCondition


class Tool(BaseModel):
    """What an operator says about one tool.

    ``effect``: the pinned class. ``reads``, ``writes``: key templates; None: undeclared, empty: none.
    ``timeout``, ``window`` (how long the tool recognises an idempotency key), ``max_age`` (how old an answer
    may be): seconds. ``max_result``: bytes of an answer that are taken. ``speculate`` None: as ``open_world``
    says. ``approval``: which calls wait for a person; what a person allows is good for ``approval_expires`` seconds
    (None: an hour). ``schema`` (here ``arguments_schema``): JSON Schema of the arguments.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    effect: EffectClass
    upstream: Upstream
    reads: Templates | None = None
    writes: Templates | None = None
    rules: tuple[Rule, ...] = Field(default=(), max_length=100)
    open_world: StrictBool = False
    speculate: StrictBool | None = None
    timeout: Seconds = DEFAULT_TIMEOUT
    window: Seconds | None = None
    max_age: Seconds | None = None
    max_result: StrictInt = Field(default=DEFAULT_MAX_RESULT, ge=1, le=LARGEST_MAX_RESULT)
    probe: Probe | None = None
    mask: MaskPaths = ()
    limits: Limits | None = None
    approval: Annotated[ApprovalRule, PlainValidator(ApprovalRule.parse), PlainSerializer(str)] | None = None
    approval_expires: Seconds | None = None
    arguments_schema: Schema | None = Field(default=None, alias="schema")

    @property
    def approval_seconds(self) -> float:
        """How long what a person allows is good."""
        return DEFAULT_EXPIRY if self.approval_expires is None else self.approval_expires

    @property
    def possible(self) -> frozenset[EffectClass]:
        """The classes that a call of this tool can have."""
        return frozenset({self.effect, *(rule.effect for rule in self.rules)})

    def may_speculate(self, effect: EffectClass) -> bool:
        """Whether a call of class ``effect`` may be sent on drafts: a read that no outsider sees, or that is
        pinned.
        """
        allowed = not self.open_world if self.speculate is None else self.speculate
        return effect is EffectClass.READ_ONLY and allowed

    @model_validator(mode="after")
    def _no_idle_words(self) -> Self:
        possible = self.possible
        if self.window is not None and EffectClass.IDEMPOTENT not in possible:
            raise ValueError("a window is for calls that can be IDEMPOTENT; these cannot")
        if EffectClass.READ_ONLY not in possible:
            if self.max_age is not None:
                raise ValueError("max_age is for calls that can be READ_ONLY; these cannot")
            if self.speculate:
                raise ValueError("speculate is for calls that can be READ_ONLY; these cannot")
        if highest(*possible) is EffectClass.READ_ONLY and self.writes:
            raise ValueError("a tool whose calls are all READ_ONLY writes nothing")
        return self
