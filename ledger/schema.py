"""The tables, as SQLAlchemy Core metadata. Functions, triggers and grants stand under ``migrations/sql``.

``shard`` leads every key, unique constraint and index, then tenant, commit key (design.md, "The ledger"): so
the same schema partitions, spreads over servers, or is distributed by an engine made for it. There are no
foreign keys. Events are the truth. Streams and intents are projections of them and can be rebuilt;
dispatches, batches and pauses are not projections and a rebuild never touches them.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    DateTime,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    and_,
    false,
    literal,
    text,
    true,
)
from sqlalchemy.types import TypeEngine

from ledger.sharding import StreamName

SCHEMA = "ledger"

metadata = MetaData(schema=SCHEMA)


def _column(name: str, kind: TypeEngine[Any], comment: str, *, null: bool = False) -> Column[Any]:
    return Column(name, kind, nullable=null, comment=comment)


def _stream_key() -> list[Column[Any]]:
    return [
        _column("shard", SmallInteger(), "Hash of tenant and commit key, 0 to 255 (ledger.sharding)."),
        _column("tenant", Text(), "Whose stream it is."),
        _column("commit_key", Text(), "Names one model message; unique within the tenant."),
    ]


_KEY = ("shard", "tenant", "commit_key")

events = Table(
    "events",
    metadata,
    *_stream_key(),
    _column("seq", BigInteger(), "Place in the stream, from 1, without gaps."),
    _column("type", Text(), "What happened; the names are those of interface.md, Event types."),
    _column("branch", Text(), "Token lane it concerns.", null=True),
    _column("intent_id", Text(), "Intent it concerns.", null=True),
    _column("attempt", Integer(), "Dispatch attempt it concerns, from 1.", null=True),
    _column("head_after", BigInteger(), "Accepted tokens of the branch after this event.", null=True),
    _column("cut_at", BigInteger(), "First rejected position, where the event rejects drafts.", null=True),
    _column("at", DateTime(timezone=True), "When it was written; for people, never for order."),
    _column("payload", Text(), "Canonical JSON (RFC 8785); null once redacted.", null=True),
    _column(
        "salt", LargeBinary(), "Random bytes in front of the payload's digest; null once redacted.", null=True
    ),
    _column("payload_digest", LargeBinary(), "SHA-256 of the salt followed by the payload's UTF-8 bytes."),
    PrimaryKeyConstraint(*_KEY, "seq", name="events_pkey"),
    CheckConstraint("shard between 0 and 255", name="events_shard_range"),
    CheckConstraint("seq > 0", name="events_seq_positive"),
    CheckConstraint("attempt > 0", name="events_attempt_positive"),
    CheckConstraint("octet_length(salt) = 16", name="events_salt_length"),
    CheckConstraint("octet_length(payload_digest) = 32", name="events_digest_length"),
    CheckConstraint("(payload is null) = (salt is null)", name="events_redacted_whole"),
    CheckConstraint(
        "at >= '0001-01-02 00:00:00+00' and at < '9999-12-31 00:00:00+00'", name="events_at_in_the_calendar"
    ),
    CheckConstraint(
        r"strpos(payload, E'\n') = 0 and strpos(payload, E'\t') = 0", name="events_payload_one_line"
    ),
    CheckConstraint(
        "6 * (octet_length(tenant) + octet_length(commit_key) + octet_length(type) + coalesce(octet_length(branch), 0)"
        " + coalesce(octet_length(intent_id), 0)) + coalesce(octet_length(payload), 0) < 134000000",
        name="events_fit_a_line",
    ),
    Index("events_by_intent", *_KEY, "intent_id", postgresql_where=text("intent_id is not null")),
    Index("events_redactions", *_KEY, "seq", postgresql_where=text("type = 'payload.redacted'")),
    comment="Everything that happened, in the order of seq within each stream. Append-only.",
)

streams = Table(
    "streams",
    metadata,
    *_stream_key(),
    _column("seq", BigInteger(), "Seq of the last event that this row reflects."),
    _column("writer_epoch", BigInteger(), "Counts the openings; older writers are fenced."),
    _column("format", Text(), "How call blocks are spelled; null in a reserved stream.", null=True),
    _column("source", Text(), "Who finds the calls: posted or detected.", null=True),
    _column("binding", Text(), "Kind of draft/target binding.", null=True),
    _column("finished", Text(), "Reason of the end; null while it lasts.", null=True),
    _column("parent", Text(), "Commit key of the message before it in one run.", null=True),
    _column("labels", Text(), "Labels given at opening, canonical JSON.", null=True),
    _column("opened_at", DateTime(timezone=True), "When it was first opened.", null=True),
    _column(
        "last_at",
        DateTime(timezone=True),
        "Last sign of its writer, up to the next full second; the idle timeout works from it.",
        null=True,
    ),
    Column(
        "unsealed",
        Boolean,
        nullable=False,
        server_default=true(),
        comment="Events of it may wait to be sealed; set by every append. A mark for the sealer, no projection.",
    ),
    PrimaryKeyConstraint(*_KEY, name="streams_pkey"),
    CheckConstraint("source in ('posted', 'detected')", name="streams_source_known"),
    Index(
        "streams_open_by_last_at",
        "shard",
        "last_at",
        postgresql_where=text("finished is null and commit_key <> '_effects'"),
    ),
    Index("streams_unsealed", *_KEY, postgresql_where=text("unsealed")),
    comment="Projection: one row a stream.",
    # Every append moves its row: with room on the page and no indexed column changed, no index is touched.
    postgresql_with={"fillfactor": 60},
)

intents = Table(
    "intents",
    metadata,
    *_stream_key(),
    _column("intent_id", Text(), "Opaque name of one tool call."),
    _column("branch", Text(), "Branch of its block."),
    _column("span_start", BigInteger(), "First token of its block."),
    _column("span_end", BigInteger(), "One past the last token of its block."),
    _column("ordinal", Integer(), "Place among the calls of one block."),
    _column("round", BigInteger(), "Round of the block's last token."),
    _column("block", Text(), "undecided, cleared or voided."),
    _column("tool", Text(), "Tool asked for; null where the block does not parse.", null=True),
    _column("arguments_raw", Text(), "Arguments exactly as the tokens spell them.", null=True),
    _column("arguments_digest", Text(), "Digest of the canonical arguments.", null=True),
    _column("call_id", Text(), "The provider's name of the call: information, never identity.", null=True),
    _column("effect", Text(), "Effect class under which it is decided."),
    _column("effect_version", BigInteger(), "Version of the effect table that gave the class."),
    _column("state", Text(), "Where the intent stands."),
    _column("reason", Text(), "Why it stands there.", null=True),
    _column("release", Text(), "early or committed; null while held.", null=True),
    _column("final", Boolean(), "The answer may be given to the runtime; never reverts."),
    _column("stale", Boolean(), "Its answer was overtaken and it waits to be sent again."),
    _column("attempts", Integer(), "Dispatches started."),
    _column("idempotency_key", Text(), "Sent with every attempt that is not a read.", null=True),
    _column("held_seq", BigInteger(), "Seq of its intent.held."),
    _column("dispatch_seq", BigInteger(), "Seq of its last dispatch.started.", null=True),
    _column("settled_seq", BigInteger(), "Seq at which it was last settled.", null=True),
    _column("final_seq", BigInteger(), "Seq of its intent.final.", null=True),
    _column("retry_at", DateTime(timezone=True), "Not sent again before this.", null=True),
    _column("result_status", Text(), "Status of the answer.", null=True),
    _column("result_content", Text(), "The answer, as JSON.", null=True),
    _column("adopted_from", Text(), "Intent whose answer it has taken for its own; null: none.", null=True),
    PrimaryKeyConstraint(*_KEY, "intent_id", name="intents_pkey"),
    Index("intents_released", *_KEY, "intent_id", postgresql_where=text("state = 'released'")),
    Index(
        "intents_awaiting_approval", *_KEY, "intent_id", postgresql_where=text("state = 'awaiting_approval'")
    ),
    Index("intents_in_doubt", *_KEY, "intent_id", postgresql_where=text("state = 'in_doubt'")),
    Index(
        "intents_due", "shard", "retry_at", postgresql_where=text("state = 'held' and retry_at is not null")
    ),
    comment="Projection: one row an intent, also the voided ones.",
)

dispatches = Table(
    "dispatches",
    metadata,
    *_stream_key(),
    _column("intent_id", Text(), "Intent that is licensed."),
    _column("attempt", Integer(), "Attempt that is licensed, from 1."),
    _column("branch", Text(), "Branch of the intent."),
    _column("effect", Text(), "Effect class under which it is sent."),
    _column(
        "once_key",
        Text(),
        "Claimed by at most one dispatch; freed when that was certainly unsent.",
        null=True,
    ),
    _column("worker", Text(), "Who sends it.", null=True),
    _column("epoch", BigInteger(), "Fencing number of the lease; never decreases."),
    _column("lease_until", DateTime(timezone=True), "End of the lease, by the database's clock."),
    _column("started_seq", BigInteger(), "Seq of its dispatch.started."),
    _column("open", Boolean(), "An outcome is awaited from the holder of the lease."),
    Column(
        "unsent",
        Boolean,
        nullable=False,
        server_default=false(),
        comment="Recorded as certainly unsent, by a dispatch.settled that says so.",
    ),
    PrimaryKeyConstraint(*_KEY, "intent_id", "attempt", name="dispatches_pkey"),
    UniqueConstraint(*_KEY, "once_key", name="dispatches_once"),
    CheckConstraint("attempt > 0", name="dispatches_attempt_positive"),
    CheckConstraint("effect in ('READ_ONLY', 'IDEMPOTENT', 'WRITE')", name="dispatches_effect_known"),
    CheckConstraint("effect <> 'WRITE' or once_key is not null or unsent", name="dispatches_write_once"),
    Index("dispatches_open_by_lease", "shard", "lease_until", postgresql_where=text("open")),
    comment="Licences to send, one a dispatch, with their leases. Not a projection: never rebuilt.",
)

batches = Table(
    "batches",
    metadata,
    *_stream_key(),
    _column("batch_id", Text(), "The writer's own name of the batch."),
    _column(
        "body_digest", LargeBinary(), "Digest of the raw body: the same name with another body is refused."
    ),
    _column("response", Text(), "What was answered, given again to a replay."),
    PrimaryKeyConstraint(*_KEY, "batch_id", name="batches_pkey"),
    comment="Answers to batches of events, for replays. Not a projection: never rebuilt.",
)

pauses = Table(
    "pauses",
    metadata,
    _column("shard", SmallInteger(), "Hash of the tenant, 0 to 255 (ledger.sharding)."),
    _column("tenant", Text(), "Whose sending is paused."),
    _column("tool", Text(), "Tool that is not sent; * is every tool."),
    _column("by", Text(), "Who paused it."),
    _column("reason", Text(), "Why."),
    _column("at", DateTime(timezone=True), "Since when."),
    PrimaryKeyConstraint("shard", "tenant", "tool", name="pauses_pkey"),
    comment="Tools whose dispatch is paused. Not a projection: never rebuilt.",
)


def spelled_out(word: str) -> ColumnElement[str]:
    """``word`` as part of the statement's text: a partial index is not found where its condition is a parameter."""
    return literal(word, literal_execute=True)


def of_stream(table: Table, stream: StreamName) -> ColumnElement[bool]:
    """The condition that a row of ``table`` belongs to ``stream``; part of every statement on a hot table."""
    return and_(*(table.c[name] == value for name, value in stream.columns().items()))
