"""A stream's row stands in its own shard; one event that is not to be understood fails no query of auditors."""

from collections.abc import Sequence

from alembic import op

from migrations.objects import source

revision: str = "0014"
down_revision: str | None = "0013"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

VIEWS = ("10_audited_events", "33_audited_streams", "59_timeline")


def upgrade() -> None:
    # Rows that stand elsewhere already stay, for what is sealed of them is: the sealer passes over them from now on.
    op.execute(source("functions", "check_stream_shard"))
    op.execute(source("triggers", "streams_in_their_shard"))
    op.execute(source("functions", "told_payload"))
    for name in VIEWS:
        op.execute(source("views", name).replace("create view", "create or replace view", 1))
    op.execute(source("grants", "functions"))
    op.execute(source("grants", "audit"))


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
