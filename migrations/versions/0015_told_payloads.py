"""An event with a member of another kind than its event has fails no query of auditors, nor does one that claims too much."""

from collections.abc import Sequence

from alembic import op

from migrations.objects import source

revision: str = "0015"
down_revision: str | None = "0014"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

VIEWS = ("10_audited_events", "21_audited_tokens", "51_rulings")


def upgrade() -> None:
    op.execute(source("functions", "told_payload"))
    for name in VIEWS:
        op.execute(source("views", name).replace("create view", "create or replace view", 1))


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
