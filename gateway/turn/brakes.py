"""Brakes: what holds calls of a tenant back beside the rule, as far as it was known when a decision was taken."""

from dataclasses import dataclass

EVERY_TOOL = "*"


@dataclass(frozen=True, slots=True)
class Brakes:
    """``paused``: tools that an operator paused (``*``: all). ``stopped``: tools that send no read early at present."""

    paused: frozenset[str] = frozenset()
    stopped: frozenset[str] = frozenset()

    def pauses(self, tool: str | None) -> bool:
        """Whether calls of ``tool`` are not sent."""
        return EVERY_TOOL in self.paused or (tool is not None and tool in self.paused)


NONE = Brakes()
