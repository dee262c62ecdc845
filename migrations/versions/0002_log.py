"""The log: seals, tiles, checkpoints, and the mark of streams that wait to be sealed."""

from collections.abc import Sequence

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Nothing yet."""


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
