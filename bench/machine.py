"""Where a figure was measured, and with which commit."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path


def circumstances() -> dict[str, object]:
    """Machine, time and commit, as JSON values; the commit is None outside of a checkout."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "load_before": [round(x, 2) for x in os.getloadavg()],
    }


def _commit() -> str | None:
    folder = Path(__file__).parent
    told = _said(["git", "-C", str(folder), "rev-parse", "HEAD"])
    if told is None:
        return None
    changed = _said(["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no"])
    return told + ("+changes" if changed else "")


def _said(words: list[str]) -> str | None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
