"""Forks of the simulation: a message that goes on from another one, and says much of it again."""

from random import Random

from tests.equivalence.simulation import Message, spelled_out
from tests.equivalence.worlds import Setting


def draw_fork(random: Random, setting: Setting, origin: Message) -> Message:
    """Most calls of ``origin`` once more, cut into other tokens."""
    calls = [call if random.random() < 0.7 else setting.draw(random) for call in origin.calls]
    return spelled_out(random, tuple(calls[: random.randint(1, len(calls))]))
