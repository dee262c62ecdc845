"""Schema audit: the views for auditors, each of them one tenant's."""

from collections.abc import Sequence

from alembic import op

from migrations.objects import source

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

# What the views of schema audit are made of, then those views.
VIEWS = (
    "10_audited_events",
    "11_audited_licences",
    "20_audited_moves",
    "21_audited_tokens",
    "30_audited_trails",
    "31_audited_intents",
    "32_audited_dispatches",
    "33_audited_streams",
    "34_audited_calls",
    "40_audited_sides",
    "50_tokens",
    "51_rulings",
    "52_intents",
    "53_dispatches",
    "54_dispatched_vs_accepted",
    "55_early_reads",
    "56_doubts",
    "57_bindings",
    "58_effect_history",
    "59_timeline",
)


def upgrade() -> None:
    op.execute(source("schemas", "audit"))
    op.execute(source("functions", "audit_shard"))
    op.execute(source("functions", "told_payload"))
    for name in VIEWS:
        op.execute(source("views", name))
    op.execute(source("grants", "audit"))


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
