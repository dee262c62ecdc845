"""No licence for a tool that is paused; the rows that keep tools to their limits."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.objects import source

revision: str = "0012"
down_revision: str | None = "0011"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def _shard() -> sa.Column[int]:
    return sa.Column(
        "shard",
        sa.SmallInteger(),
        nullable=False,
        autoincrement=False,
        comment="Hash of the tenant, 0 to 255 (ledger.sharding).",
    )


def _column(name: str, kind: sa.types.TypeEngine[Any], comment: str) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, comment=comment)


def upgrade() -> None:
    every = "Tool that is limited; * is all of them together."
    op.create_table(
        "buckets",
        _shard(),
        _column("tenant", sa.Text(), "Whose calls are limited."),
        _column("tool", sa.Text(), every),
        _column("left_over", sa.Double(), "Calls that could go at once, as of at."),
        _column("at", sa.DateTime(timezone=True), "When that was so, by the database's clock."),
        sa.PrimaryKeyConstraint("shard", "tenant", "tool", name="buckets_pkey"),
        schema="ledger",
        comment="How much of its rate each limited tool has used. Admissions lock its row. Not a projection: never rebuilt.",
    )
    op.create_table(
        "admissions",
        _shard(),
        _column("tenant", sa.Text(), "Whose call it is."),
        _column("tool", sa.Text(), every),
        _column("stream_shard", sa.SmallInteger(), "Shard of the call's stream."),
        _column("commit_key", sa.Text(), "Stream of the call."),
        _column("intent_id", sa.Text(), "The call that was let in."),
        _column("after_attempt", sa.Integer(), "Its latest attempt before."),
        _column("at", sa.DateTime(timezone=True), "When it was let in, by the database's clock."),
        sa.PrimaryKeyConstraint("shard", "tenant", "tool", "commit_key", "intent_id", name="admissions_pkey"),
        sa.CheckConstraint("stream_shard between 0 and 255", name="admissions_stream_shard_range"),
        schema="ledger",
        comment="Calls that count against a tool's concurrency: until their licence is closed. Not a projection: never rebuilt.",
    )
    op.create_table(
        "stops",
        _shard(),
        _column("tenant", sa.Text(), "Whose calls they are."),
        _column("tool", sa.Text(), "Tool that sends no read early."),
        _column("wasted", sa.Integer(), "Wasted ones among its last early reads."),
        _column("outcomes", sa.Integer(), "Early reads that were looked back on."),
        _column("at", sa.DateTime(timezone=True), "When it stopped, or was tried last."),
        sa.PrimaryKeyConstraint("shard", "tenant", "tool", name="stops_pkey"),
        schema="ledger",
        comment="Tools that send no read early, for most were wasted. Not a projection: never rebuilt.",
    )
    op.execute(source("functions", "tenant_shard"))
    op.execute(source("functions", "check_pause"))
    op.execute(source("triggers", "dispatches_while_not_paused"))
    op.execute(source("grants", "admissions"))


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
