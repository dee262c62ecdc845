"""What is written past the ledger spoils one stream at most: events that nobody could export, show or count with are refused,
and so are places and checkpoints beyond the log's end; no query of auditors fails on one event.
"""

from collections.abc import Sequence

from alembic import op

from migrations.objects import source

revision: str = "0015"
down_revision: str | None = "0014"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

VIEWS = ("10_audited_events", "20_audited_moves", "21_audited_tokens", "51_rulings")
CHECKS = {
    "events_at_in_the_calendar": "at >= '0001-01-02 00:00:00+00' and at < '9999-12-31 00:00:00+00'",
    "events_payload_one_line": r"strpos(payload, E'\n') = 0 and strpos(payload, E'\t') = 0",
    # A line of an export holds the payload as it is, and texts beside it that JSON may spell with six bytes each.
    "events_fit_a_line": "6 * (octet_length(tenant) + octet_length(commit_key) + octet_length(type)"
    " + coalesce(octet_length(branch), 0) + coalesce(octet_length(intent_id), 0)) + coalesce(octet_length(payload), 0)"
    " < 134000000",
}


def upgrade() -> None:
    # The ledger never wrote what these refuse: a row that stands in the way was written by somebody else.
    for name, condition in CHECKS.items():
        op.create_check_constraint(name, "events", condition, schema="ledger")
    for name in ("told_payload", "check_seals", "check_checkpoint"):
        op.execute(source("functions", name))
    for name in VIEWS:
        op.execute(source("views", name).replace("create view", "create or replace view", 1))
    for name in ("seals_follow_the_log", "checkpoints_of_this_log"):
        op.execute(source("triggers", name))
    op.execute(source("grants", "functions"))
    op.execute(source("grants", "audit"))


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
