"""``/v1/approvals``: calls that wait for a person, and the person's word."""

from typing import Annotated, Literal

from pydantic import Field

from gateway.wire.base import Answer, Request
from gateway.wire.views import IntentView


class ApprovalsView(Answer):
    """Every intent that awaits approval; its ``reason`` says why."""

    approvals: list[IntentView]


class DecideApproval(Request):
    """The body. ``reason``: needed to deny, and kept as a note where given to approve.

    ``arguments_digest``: that of the arguments the person has seen; refused where the intent's are others.
    ``definition``: that of what the person has seen of the tool (``asked.definition``); refused where the table says otherwise.
    """

    decision: Literal["approve", "deny"]
    reason: Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"\S")] | None = None
    arguments_digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
    definition: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")] | None = None
