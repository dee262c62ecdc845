"""Tables of the log, on the metadata of ``ledger.schema``. There is one log, and one tree, per database.

What is committed and not sealed is found without sequences, clocks or transaction numbers: ``streams.seq`` moves in
the transaction that writes the events, gapless under the lock of its row, so whatever of it lies beyond the stream's
last seal is exactly what waits.

``log``, ``tiles`` and ``checkpoints`` are led by place in the log and not by shard, and so is one index of ``seals``:
one log per database is the promise (design.md, "The ledger"). No writer of a stream ever touches them.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Index,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    text,
)

from ledger.schema import metadata

LED_BY_INDEX = ("log_pkey", "tiles_pkey", "checkpoints_pkey", "seals_in_log_order")
"""Keys and indexes that the shard does not lead, on purpose: see the module."""

log = Table(
    "log",
    metadata,
    Column("one", Boolean, nullable=False, server_default=text("true"), comment="True: there is one row."),
    Column(
        "log_id", Text, nullable=False, comment="Names this log for ever; part of the checkpoints' origin."
    ),
    Column(
        "size", BigInteger, nullable=False, server_default=text("0"), comment="Events sealed; the next index."
    ),
    Column("sealer", Text, comment="Who seals; null: nobody has yet."),
    Column(
        "lease_until",
        DateTime(timezone=True),
        comment="Until when others leave sealing to it, by the database's clock.",
    ),
    PrimaryKeyConstraint("one", name="log_pkey"),
    CheckConstraint("one", name="log_one_row"),
    CheckConstraint("size >= 0", name="log_size_counts"),
    comment="The log as a whole. A sealing round locks this row, so no index is given twice.",
)

seals = Table(
    "seals",
    metadata,
    Column(
        "shard",
        SmallInteger,
        nullable=False,
        comment="Hash of tenant and commit key, 0 to 255 (ledger.sharding).",
    ),
    Column("tenant", Text, nullable=False, comment="Whose stream it is."),
    Column("commit_key", Text, nullable=False, comment="Names one model message; unique within the tenant."),
    Column("first_seq", BigInteger, nullable=False, comment="Seq of the first event of the run."),
    Column("last_seq", BigInteger, nullable=False, comment="Seq of the last event of the run."),
    Column(
        "first_index",
        BigInteger,
        nullable=False,
        comment="Log index of the first event; event seq has first_index + seq - first_seq.",
    ),
    PrimaryKeyConstraint("shard", "tenant", "commit_key", "first_seq", name="seals_pkey"),
    CheckConstraint("first_seq > 0 and last_seq >= first_seq", name="seals_run_forwards"),
    CheckConstraint("first_index >= 0", name="seals_index_counts"),
    Index("seals_in_log_order", "first_index", unique=True),
    comment="Places in the log: one row for each run of events of one stream that were sealed together.",
)

tiles = Table(
    "tiles",
    metadata,
    Column("level", SmallInteger, nullable=False, comment="Tile level; a hash covers 256^level leaves."),
    Column("tile", BigInteger, nullable=False, comment="Place of the tile in its level, from 0."),
    Column("hashes", LargeBinary, nullable=False, comment="1 to 256 SHA-256 hashes, one after the other."),
    PrimaryKeyConstraint("level", "tile", name="tiles_pkey"),
    CheckConstraint("level between 0 and 7 and tile >= 0", name="tiles_place"),
    CheckConstraint(
        "octet_length(hashes) between 32 and 8192 and mod(octet_length(hashes), 32) = 0",
        name="tiles_whole_hashes",
    ),
    comment="The Merkle tree in tiles of height 8 (C2SP tlog-tiles). The last tile of a level grows, and only that.",
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("size", BigInteger, autoincrement=False, nullable=False, comment="Tree size that is signed for."),
    Column("note", Text, nullable=False, comment="C2SP signed note over the checkpoint."),
    Column("at", DateTime(timezone=True), nullable=False, comment="When it was signed; for people."),
    PrimaryKeyConstraint("size", name="checkpoints_pkey"),
    CheckConstraint("size >= 0", name="checkpoints_size_counts"),
    comment="Signed checkpoints of the log. They are also published outside the database.",
)
