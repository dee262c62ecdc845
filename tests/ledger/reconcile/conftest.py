"""Runs of reconciliation over the tenant of a test."""

from datetime import UTC, datetime

import pytest

from ledger.reconcile.finding import Finding
from ledger.reconcile.run import Options, Reconciliation, run
from tests.ledger.liveturn import find_blocks


@pytest.fixture
def reconcile(engine, tenant):
    def reconcile(**options) -> tuple[list[Finding], Reconciliation]:
        more = {k: options.pop(k) for k in ("tool_log", "progress") if k in options}
        blocks = options.pop("find_blocks", find_blocks)
        now = options.pop("now", datetime.now(UTC))
        found = run(engine, tenant, Options(**options), now=now, find_blocks=blocks, **more)
        return list(found.findings), found

    return reconcile
