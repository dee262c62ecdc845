"""The port to tools: one transmission of one call, and what is known of it afterwards."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

from effects.intent import ResultStatus
from gateway.turn.dispatching import Assignment


class Layer(StrEnum):
    """Who said no: the transport (an HTTP status), the protocol (a JSON-RPC error) or the tool itself."""

    TRANSPORT = "transport"
    PROTOCOL = "protocol"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Answered:
    """The tool answered: it did what was asked (``ok``) or refused on its own account (``tool_error``).

    ``content`` is a JSON value. ``layer``: where a refusal comes from.
    """

    status: Literal[ResultStatus.OK, ResultStatus.TOOL_ERROR]
    content: object = None
    layer: Layer | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class NotSent:
    """Not one byte of the call left: it certainly did not happen. ``because`` is a stable code.

    ``detail`` is for a person. ``lasting``: to try again at once would come to the same.
    """

    because: str
    detail: str | None = field(default=None, compare=False)
    lasting: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class MaybeSent:
    """Something may have reached the tool, and no answer says what became of it. ``because`` is a stable code."""

    because: str


Reply = Answered | NotSent | MaybeSent


class Upstream(Protocol):
    """Sends calls to tools. It never repeats a transmission by itself: that is the dispatcher's to decide."""

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        """Transmit ``call`` once and wait for the answer, at most ``timeout`` seconds in all (None: without limit).

        What goes wrong is a ``Reply`` too. Cancelling it gives up waiting; the call may have been sent then.
        """
        ...

    async def aclose(self) -> None:
        """Let every connection go. The next ``send`` may open new ones."""
        ...
