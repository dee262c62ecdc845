"""What waits for a person's approval is found without reading what does not."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index(
        "intents_awaiting_approval",
        "intents",
        ["shard", "tenant", "commit_key", "intent_id"],
        schema="ledger",
        postgresql_where=sa.text("state = 'awaiting_approval'"),
    )


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
