"""What a cell's messages left behind: the ledger held against all that the tools were sent."""

import json
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Engine

from gateway.service.scanning import find_blocks
from gateway.wiring import utc_now
from ledger.reconcile.run import Options, run
from ledger.reconcile.summary import Summary
from ledger.reconcile.toollog import ToolLog

AT_ONCE = timedelta(0)
"""Nothing is under way any more: what was not sent is lost."""


def judged(engine: Engine, tenant: str, log: Path) -> Summary:
    """The summary of reconciling the tenant with the complete log of its tools, findings counted."""
    with ToolLog(log, complete=True) as tool_log:
        found = run(
            engine,
            tenant,
            Options(grace=AT_ONCE),
            now=utc_now(),
            find_blocks=find_blocks,
            tool_log=tool_log,
        )
        for _finding in found.findings:
            pass
    return found.summary


def split(log: Path) -> dict[str, Path]:
    """The log of each tenant, whose name begins its commit keys, as a file beside the whole one."""
    lines: dict[str, list[str]] = {}
    for line in log.read_text(encoding="utf-8").splitlines(keepends=True):
        lines.setdefault(str(json.loads(line)["commit_key"]).partition(":")[0], []).append(line)
    files = {tenant: log.with_name(f"{tenant}.jsonl") for tenant in lines}
    for tenant, file in files.items():
        file.write_text("".join(lines[tenant]), encoding="utf-8")
    return files
