"""Effect tables by version, and what streams declare of their bindings."""

from datetime import UTC, datetime

import pytest

from gateway.principal import Principal, Role
from gateway.service.tables import EffectTables
from gateway.turn.opening import StreamTerms, open_stream
from gateway.turn.unfolding import Unfolding
from ledger.append import Change
from ledger.events import EventType
from ledger.sharding import StreamName

ONE = """
tools:
  read: {effect: READ_ONLY, reads: [], upstream: {http: "http://127.0.0.1:9/read"}}
  put: {effect: IDEMPOTENT, window: 1h, upstream: {http: "http://127.0.0.1:9/put"}}
"""
TWO = """
tools:
  read: {effect: READ_ONLY, reads: [], upstream: {http: "http://127.0.0.1:9/read"}}
  put: {effect: WRITE, upstream: {http: "http://127.0.0.1:9/put"}}
  drop: {effect: WRITE, upstream: {http: "http://127.0.0.1:9/drop"}}
"""
THREE = "tools: {}"


@pytest.fixture
def tables(ledger, tenant):
    tables = EffectTables(ledger, lambda: datetime.now(UTC))
    operator = Principal(tenant=tenant, name="olga", roles=frozenset({Role.OPERATOR}))
    for source in (ONE, TWO, THREE):
        tables.apply(operator, source)
    return tables.history(operator)


def test_every_version_is_told_tool_by_tool(auditor, tables):
    rows = auditor.rows("effect_history", "_effects")
    told = {(row["version"], row["tool"], row["effect"], row["change"]) for row in rows}
    assert told == {
        (1, "read", "READ_ONLY", "added"),
        (1, "put", "IDEMPOTENT", "added"),
        (2, "read", "READ_ONLY", "unchanged"),
        (2, "put", "WRITE", "changed"),
        (2, "drop", "WRITE", "added"),
        (3, "read", None, "removed"),
        (3, "put", None, "removed"),
        (3, "drop", None, "removed"),
    }
    assert {(row["version"], row["changed_by"], row["digest"], row["at"]) for row in rows} == {
        (event.payload["version"], "olga", event.payload["digest"], event.at) for event in tables
    }


def test_a_redacted_version_says_so(auditor, tables, planter, tenant):
    planter.redact(StreamName.of(tenant, "_effects"), 2)
    rows = auditor.rows("effect_history", "_effects")
    assert {(row["seq"], row["redacted"]) for row in rows} == {(1, False), (2, True), (3, False)}


def _open(ledger, tenant: str, key: str, binding: dict[str, object] | None) -> None:
    def decide(state):
        unfolding = Unfolding(state, datetime.now(UTC))
        open_stream(unfolding, StreamTerms(binding=binding))
        return Change(unfolding.events)

    ledger.append(tenant, key, decide)


def test_bindings_are_told_as_declared_and_as_they_went_on(auditor, ledger, tenant, planter):
    _open(ledger, tenant, "plain", None)
    _open(ledger, tenant, "paired", {"kind": "pair", "name": "b1"})
    assert [(row["kind"], row["state"], row["latest"]) for row in auditor.rows("bindings", "plain")] == [
        ("single", "declared", True)
    ]
    name = StreamName.of(tenant, "paired")
    for seq, word in enumerate(("attached", "probation", "verified"), 2):
        planter.event(name, seq, _Told(f"binding.{word}"), {"binding": "b1"})
    rows = sorted(auditor.rows("bindings", "paired"), key=lambda row: row["seq"])
    assert [(row["binding"], row["kind"], row["state"], row["latest"]) for row in rows] == [
        ("b1", "pair", "declared", True),
        ("b1", None, "attached", False),
        ("b1", None, "probation", False),
        ("b1", None, "verified", True),
    ]


class _Told:
    """A type of event that does not exist yet."""

    def __init__(self, value: str) -> None:
        self.value = value


def test_every_kind_of_event_is_told(auditor, ledger, tenant, planter):
    _open(ledger, tenant, "odd", None)
    for seq, type_ in enumerate(EventType, 2):
        planter.event(
            StreamName.of(tenant, "odd"), seq, type_, {"odd": 1}, branch="main", intent_id="i", attempt=1
        )
    rows = auditor.rows("timeline", "odd")
    assert len(rows) == len(EventType) + 1
    assert all(row["line"] for row in rows)
