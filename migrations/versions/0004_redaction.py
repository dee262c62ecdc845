"""Redaction: payload and salt may go, by one role, where an event of the stream says so."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from migrations.objects import source

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

FUNCTIONS = ("check_redaction", "forget_batches")
TRIGGERS = ("events_append_only", "events_only_redacted", "events_redaction_spreads")


def upgrade() -> None:
    op.create_index(
        "events_redactions",
        "events",
        ["shard", "tenant", "commit_key", "seq"],
        schema="ledger",
        postgresql_where=sa.text("type = 'payload.redacted'"),
    )
    for name in FUNCTIONS:
        op.execute(source("functions", name))
    op.execute("drop trigger if exists events_append_only on ledger.events")
    for name in TRIGGERS:
        op.execute(source("triggers", name))
    op.execute(source("grants", "redaction"))


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
