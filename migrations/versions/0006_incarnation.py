"""Which incarnation of the database the licences belong to."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from migrations.objects import source

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

FUNCTIONS = ("incarnation", "check_incarnation")


def upgrade() -> None:
    op.create_table(
        "incarnations",
        sa.Column(
            "shard",
            sa.SmallInteger(),
            autoincrement=False,
            nullable=False,
            comment="0 to 255 (ledger.sharding).",
        ),
        sa.Column(
            "identity",
            sa.Text(),
            nullable=False,
            comment="Incarnation that is taken in, as ledger.incarnation() names it; empty: none is.",
        ),
        sa.Column(
            "started_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="Start of the server under which it was.",
        ),
        sa.Column(
            "swept",
            sa.Boolean(),
            nullable=False,
            comment="Under this start, what was not settled was made a doubt; false: nothing was missing.",
        ),
        sa.PrimaryKeyConstraint("shard", name="incarnations_pkey"),
        schema="ledger",
        comment="The incarnation of the database on which each shard's calls may be sent. Not a projection: never rebuilt.",
    )
    for name in FUNCTIONS:
        op.execute(source("functions", name))
    op.execute(source("triggers", "dispatches_on_known_incarnation"))
    op.execute(source("grants", "incarnations"))
    # What was written before this revision belongs to the database as it is now.
    op.execute(
        "insert into ledger.incarnations (shard, identity, started_at, swept)"
        " select shard, ledger.incarnation(), pg_catalog.pg_postmaster_start_time(), false"
        " from pg_catalog.generate_series(0, 255) shard"
    )


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
