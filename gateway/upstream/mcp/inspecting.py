"""Whether the servers of a table still define their tools as pinned, asked of the servers themselves."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from effects.table import EffectTable
from gateway.upstream.mcp.access import Access
from gateway.upstream.mcp.connection import Unreachable
from gateway.upstream.mcp.definitions import digests
from gateway.upstream.mcp.importing import listing_of
from gateway.upstream.secrets import Secrets


@dataclass(frozen=True, slots=True)
class Inspected:
    """One tool of a table at its server. ``standing``: ``ok``, ``not_pinned``, ``definition_changed``, ``missing``, or
    the code of why the server could not be asked.
    """

    tool: str
    server: str
    name: str
    standing: str
    pinned: str | None
    found: str | None

    @property
    def callable(self) -> bool:
        """Whether its calls would be sent."""
        return self.standing in ("ok", "not_pinned")


async def inspect(table: EffectTable, tenant: str, secrets: Secrets) -> list[Inspected]:
    """Every MCP tool of the tenant's table, in the order of the table."""
    wanted = {tool.upstream.mcp for tool in table.tools.values() if tool.upstream.mcp is not None}
    aliases = sorted(wanted)
    answers = await asyncio.gather(
        *(_ask(Access.to(table.servers[alias], tenant, table.outbound), secrets) for alias in aliases)
    )
    found = dict(zip(aliases, answers, strict=True))
    rows: list[Inspected] = []
    for name, tool in table.tools.items():
        alias = tool.upstream.mcp
        if alias is not None:
            pins = table.servers[alias].pins
            called = tool.upstream.tool or name
            rows.append(
                _judged(name, alias, called, None if pins is None else pins.get(called), found[alias])
            )
    return rows


async def _ask(access: Access, secrets: Secrets) -> dict[str, str | None] | str:
    try:
        return digests(await listing_of(access, secrets))
    except Unreachable as error:
        return error.code


def _judged(
    tool: str, alias: str, name: str, pinned: str | None, listed: dict[str, str | None] | str
) -> Inspected:
    if isinstance(listed, str):
        return Inspected(tool, alias, name, listed, pinned, None)
    found = listed.get(name)
    if found is None:
        standing = "missing"
    elif pinned is None:
        standing = "not_pinned"
    else:
        standing = "ok" if pinned == found else "definition_changed"
    return Inspected(tool, alias, name, standing, pinned, found)


def held(rows: Sequence[Inspected]) -> list[Inspected]:
    """Those whose calls would not be sent."""
    return [row for row in rows if not row.callable]
