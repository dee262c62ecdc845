"""What is measured: arms of the run, each with the figure that it is to reach."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of writing. ``aim``: ratio to the floor that it is to reach; None where it is only printed.

    ``single_tokens``: an append is ``window`` events of one accepted token each, instead of a draft and its ruling.
    """

    name: str
    processes: int
    streams: int
    window: int
    with_replays: bool = False
    aim: float | None = None
    places: int = 2
    single_tokens: bool = False


ARMS = (
    Arm("one process, windows of 8", 1, 256, 8, aim=0.65),
    Arm("one process, windows of 16", 1, 256, 16, aim=0.65),
    Arm("one process, windows of 48", 1, 256, 48, aim=0.65),
    Arm("one process, windows of 48, replay detection", 1, 256, 48, with_replays=True, aim=0.60),
    Arm("two processes, windows of 48", 2, 256, 48, aim=1.0),
    Arm("four processes, windows of 48", 4, 256, 48, aim=1.0),
    Arm("one process, appends of 48 events", 1, 256, 48, single_tokens=True),
    Arm("one process, appends of 100 events", 1, 64, 100, single_tokens=True),
    Arm("acknowledgement, 16 streams, windows of 8", 1, 16, 8, places=1),
)
ACKNOWLEDGEMENT = ARMS[-1].name
"""The arm of which the time to an acknowledgement is looked at."""
BESIDE_PEER = ARMS[-2].name
"""The arm that is held against the peer: it writes as many events at a time."""
