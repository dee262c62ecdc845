"""What can go wrong for a user of the client, each with a stable ``code``.

ClientError
├── GatewayUnreachable      no answer, also after trying again
├── GatewayRefused          the gateway said no; ``code`` is that of its problem document
├── TurnNotEntered          the turn was used without being entered
├── Diverged                the ledger holds another call where this one would stand
└── CallEnded               the call has no answer that a runtime may use; ``intent`` says where it stands
    ├── ToolFailed          the tool itself refused: ``content`` is what it said
    ├── ToolUnavailable     the tool could not be reached; the call did not happen
    ├── CallDidNotHappen    it was in doubt, and it did not happen
    ├── AnswerUnknown       it was in doubt, and it did happen; its answer is lost
    ├── AnswerTooLarge      it happened; its answer is larger than the tool's max_result, and was cut
    ├── CallInDoubt         it may or may not have happened; it is never sent again
    ├── CallRefused, CallDenied, CallVoided
    └── CallNotFinal        not decided in time: it waits for approval, its turn, or an answer
"""

from typing import ClassVar

from gateway.wire.base import JSONObject
from gateway.wire.views import IntentView


class ClientError(Exception):
    """Base of all."""

    code: str = "client_error"


class GatewayUnreachable(ClientError):
    """The gateway did not answer in time. Whatever was asked may be asked again."""

    code = "gateway_unreachable"


class GatewayRefused(ClientError):
    """The gateway refused. ``status`` is HTTP's, ``problem`` its problem document (RFC 9457)."""

    def __init__(self, status: int, problem: JSONObject) -> None:
        self.code = str(problem.get("code", "refused"))
        self.status = status
        self.problem = problem
        super().__init__(f"{self.code}: {problem.get('detail', f'HTTP status {status}')}")


class TurnNotEntered(ClientError):
    """A turn opens its stream where it is entered; before that there is nothing to write to."""

    code = "turn_not_entered"

    def __init__(self) -> None:
        super().__init__(
            "the turn is not entered: use it inside `with gate.turn(...) as turn:` (`async with` under AsyncGate)"
        )


class Diverged(ClientError):
    """A call that is made again under a commit key must be the one that was recorded. Another call needs a fork."""

    code = "diverged"

    def __init__(self, field: str, recorded: IntentView) -> None:
        differs = "another tool" if field == "tool" else "other arguments"
        super().__init__(
            f"call {recorded.intent_id} of {recorded.commit_key} was recorded with {differs}; "
            "open a new commit key with fork_of to do something else"
        )
        self.field = field
        self.recorded = recorded


class CallEnded(ClientError):
    """The call has no answer to use."""

    says: ClassVar[str] = "has no answer"

    def __init__(self, intent: IntentView) -> None:
        detail = intent.detail or {}
        told = [str(part) for part in (intent.reason, detail.get("path"), detail.get("because")) if part]
        why = f" ({': '.join(told)})" if told else ""
        super().__init__(
            f"{intent.tool or 'the call'} {self.says}{why}: {intent.commit_key} {intent.intent_id}"
        )
        self.intent = intent


class ToolFailed(CallEnded):
    """The tool answered that it would not or could not."""

    code = "tool_error"
    says = "answered with an error"

    @property
    def content(self) -> object:
        """What the tool said."""
        return None if self.intent.result is None else self.intent.result.content


class ToolUnavailable(CallEnded):
    """The tool could not be reached; nothing happened."""

    code = "unavailable"
    says = "could not be reached"


class CallDidNotHappen(CallEnded):
    """The call was in doubt and was resolved: it did not happen."""

    code = "not_happened"
    says = "did not happen"


class AnswerUnknown(CallEnded):
    """The call was in doubt and was resolved: it happened. What the tool answered is lost."""

    code = "happened_unknown_result"
    says = "happened, and its answer is lost"


class AnswerTooLarge(CallEnded):
    """The call happened. Its answer is larger than the table's ``max_result``: only its beginning was kept."""

    code = "result_too_large"
    says = "happened, and its answer was too large to keep"


class CallInDoubt(CallEnded):
    """The call may or may not have happened. It is never sent again; a person or a probe decides."""

    code = "in_doubt"
    says = "is in doubt"


class CallRefused(CallEnded):
    """The gateway refused the call: bad arguments, an unknown tool, or a policy."""

    code = "refused"
    says = "was refused"


class CallDenied(CallEnded):
    """A person denied the call."""

    code = "denied"
    says = "was denied"


class CallVoided(CallEnded):
    """A token of the call was rejected, or the stream ended before it was decided."""

    code = "voided"
    says = "was voided"


class CallNotFinal(CallEnded):
    """The call is not over yet. It may be waited for again."""

    code = "not_final"
    says = "is not final yet"
