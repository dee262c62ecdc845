"""``/v1/dispatch``: what holds calls back, and pausing and resuming by an operator's word."""

from typing import Annotated

from pydantic import Field

from gateway.wire.base import Answer, Request

ToolName = Annotated[str, Field(min_length=1, max_length=128)]


class PauseDispatch(Request):
    """The body. ``tool`` left out: all tools of the tenant."""

    tool: ToolName | None = None
    reason: Annotated[str, Field(max_length=10_000)] = ""


class PausedView(Answer):
    """A tool (``*``: every one) that is not sent, since when, at whose word, and why."""

    tool: str
    by: str
    reason: str
    since: str


class LimitView(Answer):
    """The limits of a tool (``*``: of all together), and how many of its calls are under way."""

    tool: str
    rate: str | None
    concurrency: int | None
    running: int


class StoppedView(Answer):
    """A tool that sends no read early: ``wasted`` of its last ``of`` early reads were."""

    tool: str
    since: str
    wasted: int
    of: int


class DispatchView(Answer):
    """What holds calls back. ``in_force``: after a pause, whether no dispatch that may not have seen it is open."""

    tag: str
    paused: list[PausedView]
    limits: list[LimitView]
    speculation_stopped: list[StoppedView]
    in_force: bool | None = None
    was_paused: bool | None = None
