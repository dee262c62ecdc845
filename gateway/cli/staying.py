"""What every process that stays does first, whether it serves or only dispatches."""

from gateway import failpoints
from gateway.collecting import collect_seldom
from gateway.logs import configure_logs
from gateway.metrics import Meter
from gateway.settings import Settings
from gateway.switching import switch_soon
from gateway.tracing import configure_traces
from gateway.upstream.mcp.definitions import Quarantine


def begin(settings: Settings, service: str) -> None:
    """What every process that stays does first."""
    configure_logs(settings.log_level)
    configure_traces(service)
    failpoints.arm()
    collect_seldom()
    switch_soon()


def watch(meter: Meter, quarantine: Quarantine) -> None:
    """Let the meter say how many tools are not called."""
    meter.watch(
        "commitgate_quarantined_tools",
        "Tools of MCP servers that are not called because their definition changed.",
        lambda: len(quarantine),
    )
