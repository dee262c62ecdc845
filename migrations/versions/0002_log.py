"""The log: seals, tiles, checkpoints, and the mark of streams that wait to be sealed."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from migrations.objects import source

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

FUNCTIONS = ("check_tile_growth", "check_log_growth")
TRIGGERS = (
    "log_only_grows",
    "log_kept",
    "log_no_truncate",
    "seals_append_only",
    "seals_no_truncate",
    "tiles_only_grow",
    "tiles_kept",
    "tiles_no_truncate",
    "checkpoints_append_only",
    "checkpoints_no_truncate",
)


def _mark_streams() -> None:
    # What was written before this revision waits to be sealed, like everything written after it.
    op.add_column(
        "streams",
        sa.Column(
            "unsealed",
            sa.Boolean(),
            nullable=False,
            server_default=sa.true(),
            comment="Events of it may wait to be sealed; set by every append. A mark for the sealer, no projection.",
        ),
        schema="ledger",
    )
    op.create_index(
        "streams_unsealed",
        "streams",
        ["shard", "tenant", "commit_key"],
        unique=False,
        schema="ledger",
        postgresql_where=sa.text("unsealed"),
    )


def _create_log() -> None:
    op.create_table(
        "log",
        sa.Column(
            "one",
            sa.Boolean(),
            nullable=False,
            server_default=sa.text("true"),
            comment="True: there is one row.",
        ),
        sa.Column(
            "log_id",
            sa.Text(),
            nullable=False,
            comment="Names this log for ever; part of the checkpoints' origin.",
        ),
        sa.Column(
            "size",
            sa.BigInteger(),
            nullable=False,
            server_default=sa.text("0"),
            comment="Events sealed; the next index.",
        ),
        sa.Column("sealer", sa.Text(), nullable=True, comment="Who seals; null: nobody has yet."),
        sa.Column(
            "lease_until",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="Until when others leave sealing to it, by the database's clock.",
        ),
        sa.CheckConstraint("one", name="log_one_row"),
        sa.CheckConstraint("size >= 0", name="log_size_counts"),
        sa.PrimaryKeyConstraint("one", name="log_pkey"),
        schema="ledger",
        comment="The log as a whole. A sealing round locks this row, so no index is given twice.",
    )
    op.execute("insert into ledger.log (log_id) values (gen_random_uuid()::text)")


def _create_seals() -> None:
    op.create_table(
        "seals",
        sa.Column(
            "shard",
            sa.SmallInteger(),
            nullable=False,
            comment="Hash of tenant and commit key, 0 to 255 (ledger.sharding).",
        ),
        sa.Column("tenant", sa.Text(), nullable=False, comment="Whose stream it is."),
        sa.Column(
            "commit_key",
            sa.Text(),
            nullable=False,
            comment="Names one model message; unique within the tenant.",
        ),
        sa.Column("first_seq", sa.BigInteger(), nullable=False, comment="Seq of the first event of the run."),
        sa.Column("last_seq", sa.BigInteger(), nullable=False, comment="Seq of the last event of the run."),
        sa.Column(
            "first_index",
            sa.BigInteger(),
            nullable=False,
            comment="Log index of the first event; event seq has first_index + seq - first_seq.",
        ),
        sa.CheckConstraint("first_index >= 0", name="seals_index_counts"),
        sa.CheckConstraint("first_seq > 0 and last_seq >= first_seq", name="seals_run_forwards"),
        sa.PrimaryKeyConstraint("shard", "tenant", "commit_key", "first_seq", name="seals_pkey"),
        schema="ledger",
        comment="Places in the log: one row for each run of events of one stream that were sealed together.",
    )
    op.create_index("seals_in_log_order", "seals", ["first_index"], unique=True, schema="ledger")


def _create_tiles() -> None:
    op.create_table(
        "tiles",
        sa.Column(
            "level",
            sa.SmallInteger(),
            nullable=False,
            comment="Tile level; a hash covers 256^level leaves.",
        ),
        sa.Column("tile", sa.BigInteger(), nullable=False, comment="Place of the tile in its level, from 0."),
        sa.Column(
            "hashes",
            sa.LargeBinary(),
            nullable=False,
            comment="1 to 256 SHA-256 hashes, one after the other.",
        ),
        sa.CheckConstraint("level between 0 and 7 and tile >= 0", name="tiles_place"),
        sa.CheckConstraint(
            "octet_length(hashes) between 32 and 8192 and mod(octet_length(hashes), 32) = 0",
            name="tiles_whole_hashes",
        ),
        sa.PrimaryKeyConstraint("level", "tile", name="tiles_pkey"),
        schema="ledger",
        comment="The Merkle tree in tiles of height 8 (C2SP tlog-tiles). The last tile of a level grows, and only that.",
    )


def _create_checkpoints() -> None:
    op.create_table(
        "checkpoints",
        sa.Column(
            "size",
            sa.BigInteger(),
            autoincrement=False,
            nullable=False,
            comment="Tree size that is signed for.",
        ),
        sa.Column("note", sa.Text(), nullable=False, comment="C2SP signed note over the checkpoint."),
        sa.Column(
            "at", sa.DateTime(timezone=True), nullable=False, comment="When it was signed; for people."
        ),
        sa.CheckConstraint("size >= 0", name="checkpoints_size_counts"),
        sa.PrimaryKeyConstraint("size", name="checkpoints_pkey"),
        schema="ledger",
        comment="Signed checkpoints of the log. They are also published outside the database.",
    )


def upgrade() -> None:
    _mark_streams()
    _create_log()
    _create_seals()
    _create_tiles()
    _create_checkpoints()
    for name in FUNCTIONS:
        op.execute(source("functions", name))
    op.execute(source("row_functions", "envelope"))
    for name in TRIGGERS:
        op.execute(source("triggers", name))


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
