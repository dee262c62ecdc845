"""Whose tables may run code on this machine, or in its database.

Whoever writes a table that starts a command, names a Python function or holds SQL acts with the powers of the dispatcher. So
that is for the tenant whom a deployment belongs to, unless its operator says otherwise (``COMMITGATE_LOCAL_UPSTREAMS``).
"""

from dataclasses import dataclass

from effects.table import EffectTable
from effects.upstream import runs_locally

OFF = "local_upstreams_off"
"""Code of a call, or of a table, that would run code here and may not."""


@dataclass(frozen=True, slots=True)
class LocalUpstreams:
    """``setting``: true for every tenant, false for none; None: for the tenant ``own`` alone."""

    setting: bool | None = None
    own: str = "default"

    def allows(self, tenant: str) -> bool:
        """Whether a table of ``tenant`` may run code here."""
        return tenant == self.own if self.setting is None else self.setting

    def refused(self, tenant: str, table: EffectTable) -> str | None:
        """The place in ``table`` of the first entry that ``tenant`` may not have; None: there is none."""
        if self.allows(tenant):
            return None
        for alias, server in table.servers.items():
            if server.command is not None:
                return f"servers.{alias}.command"
        for name, tool in table.tools.items():
            if runs_locally(tool.upstream, None):
                return f"tools.{name}.upstream.{tool.upstream.kind}"
        return None


EVERYBODY = LocalUpstreams(setting=True)
"""Where nothing but one's own tables is in play."""
