"""How one tenant reaches one MCP server: where it is, what it is told beside the calls, and where requests may go."""

import asyncio
from dataclasses import dataclass

from effects.outbound import Outbound
from effects.upstream import Server
from gateway.upstream.secrets import Resolved, Secrets


@dataclass(frozen=True, slots=True)
class Access:
    """``server`` without its pins, for they change nothing here. Two that are equal can share a session."""

    server: Server
    tenant: str
    outbound: Outbound

    @classmethod
    def to(cls, server: Server, tenant: str = "", outbound: Outbound | None = None) -> "Access":
        """The access to ``server`` as a table describes it."""
        return cls(server.model_copy(update={"pins": None}), tenant, outbound or Outbound())

    async def resolved(self, secrets: Secrets) -> Resolved:
        """Headers of a server with a URL, variables of one that is started. Raises ``SecretMissing``."""
        values = self.server.env if self.server.url is None else self.server.headers
        return await asyncio.to_thread(secrets.resolve, self.tenant, values)
