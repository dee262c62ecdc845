"""API keys."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from migrations.objects import source

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.Text(), nullable=False, comment="Public part of the key."),
        sa.Column("tenant", sa.Text(), nullable=False, comment="The one tenant in which it acts."),
        sa.Column(
            "roles", sa.ARRAY(sa.Text()), nullable=False, comment="What it may do (interface.md, Auth)."
        ),
        sa.Column(
            "digest",
            sa.LargeBinary(),
            nullable=False,
            comment="SHA-256 of the secret, which is kept nowhere.",
        ),
        sa.Column("label", sa.Text(), nullable=True, comment="What it is for, in its maker's words."),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, comment="When it was made."),
        sa.Column("created_by", sa.Text(), nullable=False, comment="Who made it."),
        sa.Column(
            "expires_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="It is good before this; null: for ever.",
        ),
        sa.Column(
            "last_used_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="When it was used last, to about a minute.",
        ),
        sa.Column(
            "revoked_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="It is good for nothing since.",
        ),
        sa.CheckConstraint("id <> ''", name="keys_named"),
        sa.CheckConstraint("tenant <> ''", name="keys_tenant_named"),
        sa.CheckConstraint("cardinality(roles) > 0", name="keys_have_roles"),
        sa.CheckConstraint("octet_length(digest) = 32", name="keys_digest_length"),
        sa.PrimaryKeyConstraint("id", name="keys_pkey"),
        schema="ledger",
        comment="API keys. Made and revoked by migrators alone (commitgate keys); rows stay, the revoked ones too.",
    )
    op.execute(source("grants", "keys"))


def downgrade() -> None:
    raise NotImplementedError("a ledger is not taken back; restore a backup")
