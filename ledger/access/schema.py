"""Who may look and who may call: the tables of auditors and of API keys, on the metadata of ``ledger.schema``.

Auditors are read by the views of schema ``audit``, under their owner. Neither table is sharded: a row a person or a
program, looked up by name.
"""

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    Column,
    DateTime,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
)

from ledger.schema import metadata

NOT_SHARDED = ("auditors_pkey", "keys_pkey")
"""Keys that the shard does not lead, on purpose: see the module."""

auditors = Table(
    "auditors",
    metadata,
    Column(
        "login",
        Text,
        nullable=False,
        comment="Role that logs in, as session_user says it; no setting changes that.",
    ),
    Column("tenant", Text, nullable=False, comment="The one tenant whose rows it is shown."),
    PrimaryKeyConstraint("login", name="auditors_pkey"),
    CheckConstraint("login <> '' and octet_length(login) <= 63", name="auditors_login_is_a_name"),
    CheckConstraint("tenant <> ''", name="auditors_tenant_named"),
    comment="Which tenant an auditor's login is shown. Written by migrators alone (commitgate db auditors).",
)

keys = Table(
    "keys",
    metadata,
    Column("id", Text, nullable=False, comment="Public part of the key."),
    Column("tenant", Text, nullable=False, comment="The one tenant in which it acts."),
    Column("roles", ARRAY(Text), nullable=False, comment="What it may do (interface.md, Auth)."),
    Column("digest", LargeBinary, nullable=False, comment="SHA-256 of the secret, which is kept nowhere."),
    Column("label", Text, comment="What it is for, in its maker's words."),
    Column("created_at", DateTime(timezone=True), nullable=False, comment="When it was made."),
    Column("created_by", Text, nullable=False, comment="Who made it."),
    Column("expires_at", DateTime(timezone=True), comment="It is good before this; null: for ever."),
    Column("last_used_at", DateTime(timezone=True), comment="When it was used last, to about a minute."),
    Column("revoked_at", DateTime(timezone=True), comment="It is good for nothing since."),
    PrimaryKeyConstraint("id", name="keys_pkey"),
    CheckConstraint("id <> ''", name="keys_named"),
    CheckConstraint("tenant <> ''", name="keys_tenant_named"),
    CheckConstraint("cardinality(roles) > 0", name="keys_have_roles"),
    CheckConstraint("octet_length(digest) = 32", name="keys_digest_length"),
    comment="API keys. Made and revoked by migrators alone (commitgate keys); rows stay, the revoked ones too.",
)
