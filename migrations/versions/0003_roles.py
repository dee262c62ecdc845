"""Who may do what: one group role a duty, and the auditors' logins by tenant.

What the login that upgrades needs: CREATE on the database, and CREATEROLE to make the group roles and to put the
services' group and itself into them. It needs no CREATEROLE where an administrator ran beforehand, for managed Postgres:

    CREATE ROLE commitgate_service;                                             -- and so, NOLOGIN, each of:
    -- commitgate_writer, _dispatcher, _sealer, _reconciler, _auditor, _migrator, _redactor
    GRANT commitgate_writer, commitgate_dispatcher, commitgate_sealer, commitgate_reconciler TO commitgate_service;
    GRANT commitgate_migrator TO the_login_that_upgrades;

A superuser is not needed at any time. Members of commitgate_service go on as before: its grants become those of the
duties that it is put into. Everything in the schema becomes commitgate_migrator's, so any member of it may upgrade next.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from migrations.objects import source

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ROLES = (
    "commitgate_writer",
    "commitgate_dispatcher",
    "commitgate_sealer",
    "commitgate_reconciler",
    "commitgate_auditor",
    "commitgate_migrator",
    "commitgate_redactor",
    "memberships",
)
FUNCTIONS = (
    "refuse_change",
    "refuse_licence",
    "check_licence",
    "check_licence_change",
    "check_tile_growth",
    "check_log_growth",
)
GRANTS = (
    "schema",
    "functions",
    "events",
    "projections",
    "dispatches",
    "batches",
    "pauses",
    "log",
    "auditors",
)


def _create_auditors() -> None:
    op.create_table(
        "auditors",
        sa.Column(
            "login",
            sa.Text(),
            nullable=False,
            comment="Role that logs in, as session_user says it; no setting changes that.",
        ),
        sa.Column("tenant", sa.Text(), nullable=False, comment="The one tenant whose rows it is shown."),
        sa.CheckConstraint("login <> '' and octet_length(login) <= 63", name="auditors_login_is_a_name"),
        sa.CheckConstraint("tenant <> ''", name="auditors_tenant_named"),
        sa.PrimaryKeyConstraint("login", name="auditors_pkey"),
        schema="ledger",
        comment="Which tenant an auditor's login is shown. Written by migrators alone (commitgate db auditors).",
    )


def upgrade() -> None:
    for name in ROLES:
        op.execute(source("roles", name))
    _create_auditors()
    # They find types in pg_temp last now: a login that makes a type of its own there could turn a check around.
    for name in FUNCTIONS:
        op.execute(source("functions", name))
    op.execute("revoke all on all tables in schema ledger from commitgate_service")
    op.execute("revoke all on all functions in schema ledger from commitgate_service")
    op.execute("revoke all on schema ledger from commitgate_service")
    for name in GRANTS:
        op.execute(source("grants", name))
    # Services refuse to start on an old schema, so they must see which one it is.
    op.execute(
        "grant select on ledger.alembic_version"
        " to commitgate_writer, commitgate_dispatcher, commitgate_sealer, commitgate_reconciler"
    )


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
