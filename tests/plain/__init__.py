"""The plain mode of tests: the product without LISTEN/NOTIFY, advisory locks and SKIP LOCKED.

Engines that the schema is meant for lack them, or have them in name only; so they may speed things up and are never
needed (design.md, "The ledger"). With COMMITGATE_TEST_PLAIN=1 the suite runs in this mode: every such statement raises,
in this process and in those that tests start, and in the test databases the functions are taken away from all logins but
the superuser's, which is the tests' own. Dispatchers poll.
"""

import os
from collections.abc import Mapping
from pathlib import Path

SETTING = "COMMITGATE_TEST_PLAIN"
_SITE = Path(__file__).parent / "site"


def wanted() -> bool:
    """Whether this run is to be in plain mode."""
    return os.environ.get(SETTING, "") not in ("", "0")


def environ() -> Mapping[str, str]:
    """What makes a Python process of the product plain: its driver refuses, and its dispatchers poll."""
    path = os.pathsep.join(filter(None, [str(_SITE), os.environ.get("PYTHONPATH")]))
    return {SETTING: "1", "COMMITGATE_WAKE": "poll", "PYTHONPATH": path}


def begin() -> None:
    """Make this process plain, and every one that it starts."""
    from tests.plain import hook

    os.environ.update(environ())
    hook.install()
