"""The MCP servers: whether they still define their tools as pinned. Loads the SDK, so it stands apart."""

import asyncio
from collections.abc import Iterator

from effects.table import EffectTable
from effects.wording import counted
from gateway.doctor.finding import Finding, Verdict
from gateway.upstream.mcp.inspecting import held, inspect
from gateway.upstream.secrets import Secrets


def quarantined(table: EffectTable, tenant: str, secrets: Secrets) -> Iterator[Finding]:
    """``quarantine``: no tool of an MCP server is in quarantine, as this process would judge it."""
    rows = asyncio.run(inspect(table, tenant, secrets))
    shut = [f"{row.tool} ({row.standing})" for row in held(rows)]
    if shut:
        hint = "commitgate effects quarantine tells more; pin the new definition, once you have read it"
        yield Finding("quarantine", Verdict.FAIL, f"not called: {', '.join(shut)}", hint)
    else:
        yield Finding("quarantine", Verdict.PASS, f"as pinned: {counted(len(rows), 'tool')} of MCP servers")
