"""The table of auditors, on the metadata of ``ledger.schema``.

It is read by the views of schema ``audit``, under their owner. It is not sharded: a row a person, looked up by name.
"""

from sqlalchemy import CheckConstraint, Column, PrimaryKeyConstraint, Table, Text

from ledger.schema import metadata

NOT_SHARDED = ("auditors_pkey",)
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
