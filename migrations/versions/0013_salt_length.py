"""Salts have 16 bytes, no more: bytes of a payload moved in front of it into a longer salt, under the same digest."""

from collections.abc import Sequence

from alembic import op

revision: str = "0013"
down_revision: str | None = "0012"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    # Every salt that the ledger drew has 16 bytes: a row that stands in the way was changed by somebody else.
    op.drop_constraint("events_salt_length", "events", schema="ledger", type_="check")
    op.create_check_constraint("events_salt_length", "events", "octet_length(salt) = 16", schema="ledger")


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
