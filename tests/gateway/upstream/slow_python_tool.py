"""A function whose module takes as long to load as a test wants."""

import os
import time
from pathlib import Path

from tests.gateway.upstream.python_tool import tool as tool

_folder = Path(os.environ["TOOL_FOLDER"])
(_folder / f"loading-{os.getpid()}").touch()
_deadline = time.monotonic() + 30
while not (_folder / "release").exists() and time.monotonic() < _deadline:
    time.sleep(0.01)
