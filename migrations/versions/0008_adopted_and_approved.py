"""The views know approval, adoption and probes; an intent's row says whose answer it has taken for its own."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from migrations.objects import source

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

# Every view of auditors, in the order in which they are made of one another.
INNER = (
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
)
OUTER = (
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
    op.add_column(
        "intents",
        sa.Column(
            "adopted_from",
            sa.Text(),
            nullable=True,
            comment="Intent whose answer it has taken for its own; null: none.",
        ),
        schema="ledger",
    )
    for name in reversed((*INNER, *OUTER)):
        schema = "ledger" if name in INNER else "audit"
        op.execute(f"drop view {schema}.{name.split('_', 1)[1]}")
    # The views of today call it; a database that was at 0005 before there was one has none yet.
    op.execute(source("functions", "told_payload"))
    for name in (*INNER, *OUTER):
        op.execute(source("views", name))
    op.execute(source("grants", "audit"))


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
