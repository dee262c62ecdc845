"""Tables of limits and stops, on the metadata of ``ledger.schema``. Only tools that are limited, or stopped, have rows."""

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    Integer,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    literal,
)

from ledger.schema import metadata
from ledger.sharding import SHARDS

EVERY_TOOL = "*"
"""In place of a tool's name: all tools of the tenant together."""

ALL_SHARDS = literal(list(range(SHARDS)), ARRAY(SmallInteger))
"""For questions about all tenants: every statement names its shards."""

buckets = Table(
    "buckets",
    metadata,
    Column("shard", SmallInteger, nullable=False, comment="Hash of the tenant, 0 to 255 (ledger.sharding)."),
    Column("tenant", Text, nullable=False, comment="Whose calls are limited."),
    Column("tool", Text, nullable=False, comment="Tool that is limited; * is all of them together."),
    Column("left_over", Double, nullable=False, comment="Calls that could go at once, as of at."),
    Column(
        "at", DateTime(timezone=True), nullable=False, comment="When that was so, by the database's clock."
    ),
    PrimaryKeyConstraint("shard", "tenant", "tool", name="buckets_pkey"),
    comment="How much of its rate each limited tool has used. Admissions lock its row. Not a projection: never rebuilt.",
)

admissions = Table(
    "admissions",
    metadata,
    Column("shard", SmallInteger, nullable=False, comment="Hash of the tenant, 0 to 255 (ledger.sharding)."),
    Column("tenant", Text, nullable=False, comment="Whose call it is."),
    Column("tool", Text, nullable=False, comment="Tool that is limited; * is all of them together."),
    Column("stream_shard", SmallInteger, nullable=False, comment="Shard of the call's stream."),
    Column("commit_key", Text, nullable=False, comment="Stream of the call."),
    Column("intent_id", Text, nullable=False, comment="The call that was let in."),
    Column("after_attempt", Integer, nullable=False, comment="Its latest attempt before."),
    Column(
        "at", DateTime(timezone=True), nullable=False, comment="When it was let in, by the database's clock."
    ),
    PrimaryKeyConstraint("shard", "tenant", "tool", "commit_key", "intent_id", name="admissions_pkey"),
    CheckConstraint("stream_shard between 0 and 255", name="admissions_stream_shard_range"),
    comment="Calls that count against a tool's concurrency: until their licence is closed. Not a projection: never rebuilt.",
)

stops = Table(
    "stops",
    metadata,
    Column("shard", SmallInteger, nullable=False, comment="Hash of the tenant, 0 to 255 (ledger.sharding)."),
    Column("tenant", Text, nullable=False, comment="Whose calls they are."),
    Column("tool", Text, nullable=False, comment="Tool that sends no read early."),
    Column("wasted", Integer, nullable=False, comment="Wasted ones among its last early reads."),
    Column("outcomes", Integer, nullable=False, comment="Early reads that were looked back on."),
    Column("at", DateTime(timezone=True), nullable=False, comment="When it stopped, or was tried last."),
    PrimaryKeyConstraint("shard", "tenant", "tool", name="stops_pkey"),
    comment="Tools that send no read early, for most were wasted. Not a projection: never rebuilt.",
)
