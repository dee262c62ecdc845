"""What need not be led by the shard, and why. An entry that excuses nothing any more is itself a finding."""

from collections.abc import Mapping

_LOG = "one log a database, in the order of its index: it is read by index, and each server of a spread ledger has its own"

TABLES: Mapping[str, str] = {
    "alembic_version": "Alembic's own: one row, read at start",
    "log": _LOG,
    "tiles": _LOG,
    "checkpoints": _LOG,
    "keys": "who may call, by id: asked once a second at most, and the same on every server of a spread ledger",
    "auditors": "who may audit, by login: asked once a query, and the same on every server of a spread ledger",
}
"""Tables whose keys and statements need not name a shard."""

INDEXES: Mapping[str, str] = {"seals_in_log_order": _LOG}
"""Indexes that need not begin with the shard, of tables that have one."""

LED_BY: Mapping[str, str] = {"seals": "first_index"}
"""Columns that may stand in for the shard, by table: places in the log."""

STATEMENTS: Mapping[str, str] = {
    "coalesce(sum(least(s.seq - coalesce(sealed.last_seq, 0)": "a gauge for people: how much of the whole log waits to be"
    " sealed; led by the index of the streams that are marked, of which there are few",
}
"""Statements, by a part of their text, that may ask a hot table without a shard."""
