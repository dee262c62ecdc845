"""Child processes that the kernel ends with their parent (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1


def ended_with_parent(number: signal.Signals) -> Callable[[], None] | None:
    """The `preexec_fn` of a child that gets this signal when its parent dies; None where there is no such thing.

    It is set after the child has stepped down, which would clear it. The parent must have one thread.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask_for_signal() -> None:
        prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:  # it died before the request was made
            os._exit(1)

    return ask_for_signal
