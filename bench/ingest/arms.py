"""What is measured: arms of the run, each with the figure that it is to reach."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of writing. ``aim``: ratio to the floor that it is to reach; None where it is only printed."""

    name: str
    processes: int
    streams: int
    window: int
    with_replays: bool = False
    aim: float | None = None
    places: int = 2


ARMS = (
    Arm("one process, windows of 8", 1, 256, 8, aim=0.65),
    Arm("one process, windows of 16", 1, 256, 16, aim=0.65),
    Arm("one process, windows of 48", 1, 256, 48, aim=0.65),
    Arm("one process, windows of 48, replay detection", 1, 256, 48, with_replays=True, aim=0.60),
    Arm("two processes, windows of 48", 2, 256, 48, aim=1.0),
    Arm("four processes, windows of 48", 4, 256, 48, aim=1.0),
    Arm("acknowledgement, 16 streams, windows of 8", 1, 16, 8, places=1),
)
ACKNOWLEDGEMENT = ARMS[-1].name
"""The arm of which the time to an acknowledgement is looked at."""
