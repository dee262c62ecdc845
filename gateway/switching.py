"""Threads in a process that serves."""

import sys

SOON = 0.001
"""Seconds after which a thread that computes lets another go on."""


def switch_soon() -> None:
    """Let threads take turns often: most of them wait for a database, and what answers is not to wait for a computation."""
    sys.setswitchinterval(SOON)
