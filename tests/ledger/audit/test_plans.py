"""At 100,000 events every view of one commit key stays on indexes: no scan of a table of the ledger."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from ledger.append import Ledger
from ledger.connect import connect
from tests.ledger.audit.asking import VIEWS, Auditor, auditor_of
from tests.ledger.audit.bulk import multiply, originals

EVENTS = 100_000
BIG = {"events", "dispatches", "intents", "streams", "branches", "batches"}
"""Tables that grow with the ledger."""

TENANT = "planned"
Node = dict[str, object]


@pytest.fixture(scope="module")
def big(module_database) -> Iterator[Auditor]:
    engine = connect(module_database.service_url)
    admin = create_engine(module_database.admin_url, poolclass=NullPool)
    ledger = Ledger(engine, clock=lambda: datetime.now(UTC))
    originals(ledger, TENANT, 5, 100)
    with admin.begin() as connection:
        each = multiply(connection, TENANT, 0)
        assert multiply(connection, TENANT, EVENTS // each + 1) >= EVENTS
    engine.dispose()
    with auditor_of(module_database, TENANT) as auditor:
        yield auditor


def nodes(plan: Node) -> Iterator[Node]:
    """A plan's node and all below it, also those of subplans and of common table expressions."""
    yield plan
    below = plan.get("Plans", [])
    assert isinstance(below, list)
    for node in below:
        yield from nodes(node)


def strayed(auditor: Auditor, query: str) -> list[str]:
    """What reads a table that grows otherwise than by an index under shard and commit key."""
    plan = auditor.ask(f"explain (format json, verbose) {query}")[0]["QUERY PLAN"][0]["Plan"]  # type: ignore[index]
    found = [node for node in nodes(plan) if node.get("Relation Name") in BIG]
    found = [node for node in found if node.get("Schema") == "ledger"]
    assert found, "the plan reads no table"
    return [
        f"{node['Node Type']} on {node['Relation Name']}: {node.get('Index Cond', node.get('Recheck Cond'))}"
        for node in found
        if not all(
            name in str(node.get("Index Cond", node.get("Recheck Cond"))) for name in ("shard", "commit_key")
        )
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_one_commit_key_stays_on_indexes(big, view):
    assert strayed(big, f"select * from audit.{view} where commit_key = 'copy-7-2'") == []
    assert strayed(big, f"select count(*) from audit.{view} where commit_key = 'nowhere'") == []


@pytest.mark.parametrize("view", VIEWS)
def test_and_of_one_shard_too(big, view):
    one = "shard = audit.shard('planned', 'copy-7-2') and commit_key = 'copy-7-2'"
    assert strayed(big, f"select * from audit.{view} where {one}") == []


@pytest.mark.parametrize("view", VIEWS)
def test_the_control_a_key_that_no_index_knows_is_found(big, view):
    assert strayed(big, f"select * from audit.{view} where commit_key || '' = 'copy-7-2'") != []


def test_a_plan_reads_few_pages(big):
    """What one commit key costs does not grow with the ledger: it is counted in pages of it."""
    for view in VIEWS:
        query = f"explain (analyze, buffers, format json) select * from audit.{view} where commit_key = 'copy-7-2'"
        plan = big.ask(query)[0]["QUERY PLAN"][0]["Plan"]  # type: ignore[index]
        pages = int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])
        assert pages < 40_000, f"{view}: {pages}"
