"""The state of one stream: what its events amount to. Values only; ``ledger.fold`` makes them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from effects.classes import EffectClass
from effects.footprint import Footprint
from effects.intent import BlockState, IntentState, Release, ResultStatus, is_terminal
from ledger.altered import altered
from ledger.tokens import NO_TOKENS, Token, Tokens


@dataclass(frozen=True, slots=True)
class Branch:
    """One token lane: accepted tokens by position, then drafts that nobody has ruled on."""

    name: str
    round: int = 0
    accepted: Tokens = NO_TOKENS
    pending: Tokens = NO_TOKENS

    @property
    def head(self) -> int:
        """Number of accepted tokens."""
        return len(self.accepted)

    @property
    def drafted_end(self) -> int:
        """Head plus pending drafts."""
        return len(self.accepted) + len(self.pending)

    @property
    def text(self) -> str:
        """What the accepted tokens spell."""
        return "".join(self.accepted.texts)

    def token(self, position: int) -> Token:
        """The accepted or pending token at ``position``. IndexError beyond the drafted end."""
        head = len(self.accepted)
        return self.accepted[position] if position < head else self.pending[position - head]


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's word that one call may be sent once, with the arguments of this digest.

    ``definition``: digest of what the table said of its tool then (``effects.definition``); None: it was not recorded.
    ``spent_on``: the attempt that it was sent by, None before. ``expires_at``: it must be claimed before.
    """

    arguments_digest: str | None
    by: str
    note: str | None
    expires_at: datetime
    spent_on: int | None = None
    definition: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person is shown who has to decide: the class, the footprint, the upstream as the table spells it, and the digest
    of what the table, in that version, says of the tool (``effects.definition``). None: it was not recorded.
    """

    effect: EffectClass
    effect_version: int
    footprint: Footprint | None = None
    upstream: Mapping[str, object] | None = None
    definition: str | None = None


@dataclass(frozen=True, slots=True)
class Intent:
    """One tool call asked for by one block, and how far it has come.

    ``effect``: the higher of the classes at creation and at release. ``closed_seq``: seq of the event that brought the
    block's last token. ``open_attempt``: the dispatch whose outcome is awaited. ``result_content`` is what came back,
    as a JSON value. ``answered_early``: the answer held belongs to an early release. ``adopted_from``, ``adopted_attempt``:
    the intent and the dispatch whose answer it takes for its own; None where it is one of its own. ``redacted``: its
    arguments, names, footprint and answer were taken away. ``asked_because``: why a person has to decide, once that was
    asked for or was true when it was held; ``asked``: what was shown then; ``approval``: what the person said. ``definition``:
    digest of what the table said of its tool at its latest release; ``sent_definition``: at its latest dispatch; None: there
    was none, or it was not recorded. ``detail``: more about ``reason``.
    ``doubted_at``: when it was last found in doubt, ``probes``: how often it was probed since. ``held_at``, ``cleared_at``,
    ``released_at``: when it was first held, its block cleared, it last released; for people and measurements, never for
    order. ``traceparent``: W3C trace context of the request that asked for it. ``inside``: its latest dispatch runs in the
    ledger's own database. ``unsent_attempts``: dispatches that certainly did not happen. ``block_ordinal``: its place among the
    calls of its own block, however the text was cut (``ordinal`` counts all that begin in one token).
    """

    intent_id: str
    branch: str
    round: int
    start: int
    end: int
    ordinal: int
    byte_start: int
    byte_end: int
    closed_seq: int
    held_seq: int
    tool: str | None
    arguments_raw: str | None
    arguments_digest: str | None
    problem: str | None
    effect: EffectClass
    effect_version: int
    footprint: Footprint
    call_id: str | None = None
    block: BlockState = BlockState.UNDECIDED
    state: IntentState = IntentState.HELD
    reason: str | None = None
    release: Release | None = None
    final: bool = False
    stale: bool = False
    attempts: int = 0
    open_attempt: int | None = None
    idempotency_key: str | None = None
    dispatch_seq: int | None = None
    dispatched_at: datetime | None = None
    first_dispatched_at: datetime | None = None
    settled_seq: int | None = None
    answered_early: bool = False
    adopted_from: str | None = None
    adopted_attempt: int | None = None
    final_seq: int | None = None
    result_status: ResultStatus | None = None
    result_content: object = None
    resolved: bool = False
    retry_at: datetime | None = None
    redacted: bool = False
    block_ordinal: int = 0
    asked_because: str | None = None
    approval: Approval | None = None
    detail: Mapping[str, object] | None = None
    doubted_at: datetime | None = None
    probes: int = 0
    held_at: datetime | None = None
    cleared_at: datetime | None = None
    released_at: datetime | None = None
    traceparent: str | None = None
    inside: bool = False
    unsent_attempts: int = 0
    asked: Asked | None = None
    definition: str | None = None
    sent_definition: str | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Its place in its branch: (start, ordinal)."""
        return (self.start, self.ordinal)

    @property
    def certainly_unsent(self) -> bool:
        """Whether it is known of every dispatch so far that it did not happen."""
        return self.attempts == self.unsent_attempts

    @property
    def terminal(self) -> bool:
        """Final, voided, refused or denied."""
        return is_terminal(self.state, final=self.final)


@dataclass(frozen=True, slots=True)
class StreamState:
    """What all events of one stream up to ``seq`` amount to. ``seq`` 0: the stream does not exist.

    ``redacted``: seqs of the events whose payloads were taken away; tokens that they brought are blank.
    """

    tenant: str
    commit_key: str
    seq: int = 0
    writer_epoch: int = 0
    format: str = "hermes"
    source: str = "posted"
    binding: str = "single"
    branches_mode: str = "agree"
    threshold: float | None = None
    parent: str | None = None
    labels: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    finished: str | None = None
    opened_at: datetime | None = None
    last_writer_at: datetime | None = None
    branches: Mapping[str, Branch] = field(default_factory=lambda: MappingProxyType({}))
    intents: Mapping[str, Intent] = field(default_factory=lambda: MappingProxyType({}))
    redacted: frozenset[int] = frozenset()
    fork_of: str | None = None

    @property
    def exists(self) -> bool:
        """Whether the stream was ever opened."""
        return self.seq > 0

    def with_intents(self, changed: Iterable[Intent], *, seq: int | None = None) -> "StreamState":
        """The state in which these intents, new ones too, are what they are now; after the event ``seq`` (None: as it was)."""
        moved = {intent.intent_id: intent for intent in changed}
        if not moved:
            return self
        intents = MappingProxyType({**self.intents, **moved})
        return altered(self, intents=intents, seq=self.seq if seq is None else seq)

    def with_branches(self, moved: Mapping[str, Branch], *, at: datetime, seq: int) -> "StreamState":
        """The state after token events up to ``seq``, the last at ``at``, that made these branches what they are now."""
        branches = MappingProxyType({**self.branches, **moved})
        return altered(self, branches=branches, last_writer_at=at, seq=seq)
