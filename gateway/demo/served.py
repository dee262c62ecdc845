"""The gateway of the demonstration: ``commitgate serve`` as a process of its own."""

import sys
from pathlib import Path

from gateway.demo.child import Child
from gateway.demo.source import environment, source_tree
from gateway.settings import Settings

COMMAND = "from gateway.cli.main import run; run()"


def start_gateway(folder: Path, settings: Settings) -> Child:
    """The gateway's process, with a dispatcher inside, under ``settings``; its logs go to ``folder``."""
    own = {"COMMITGATE_HOME": str(settings.home), "COMMITGATE_TENANT": settings.tenant}
    if not settings.seal:
        own["COMMITGATE_SEAL"] = "false"
    argv = [sys.executable, "-c", COMMAND, "serve", "--port", "0"]
    return Child("gateway", argv, folder=folder, cwd=source_tree(), env=environment(**own))


def url_of(child: Child, timeout: float) -> str:
    """Where it listens, once it does."""
    return str(child.first_line(timeout)["listening"])
