"""Auditors find no mismatch where a detector built the arguments from a form that is no JSON."""

from collections.abc import Sequence

from alembic import op

from migrations.objects import source

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.execute(source("views", "40_audited_sides").replace("create view", "create or replace view", 1))


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
