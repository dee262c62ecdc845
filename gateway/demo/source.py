"""Where the product's own source lies, and the environment of processes that run from it."""

import os
from pathlib import Path


def source_tree() -> Path:
    """The folder that holds the packages: the root of a clone, where it is one."""
    return Path(__file__).resolve().parents[2]


def environment(**settings: str) -> dict[str, str]:
    """This process's environment with ``settings`` put over it, and the source tree importable."""
    search = os.pathsep.join(filter(None, (str(source_tree()), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": search, "PYTHONUNBUFFERED": "1", **settings}
