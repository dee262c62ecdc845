"""The garbage collector in a process that serves."""

import gc

_NEW_OBJECTS = 50_000


def collect_seldom() -> None:
    """Look for cycles less often, and never again among what start-up left.

    States of streams are many small values that hold no cycles and live long, and by default the collector looks through
    them again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 10, 20)
