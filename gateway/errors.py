"""The errors that a caller of the gateway can meet, each with a stable ``code`` and its HTTP status.

GatewayError
├── BadInput (422)
│   ├── InvalidRequest, InvalidText, RefusedJSON, UnknownBranch, NotSupported, InvalidEffects (LiteralSecret, LocalUpstreamsOff)
│   ├── UnknownForkOf, ForkOfItself, ForksTooDeep
│   └── TooManyCalls, DivergesFromTokens
├── MalformedJSON (400)
├── TooLarge (413), UnsupportedMediaType (415)
├── Unauthorised (401)
├── Forbidden (403)
│   └── ForbiddenHost, ForbiddenOrigin, OpenRefused, FailPointsRefused
├── NotFound (404)
│   └── UnknownCommitKey, UnknownIntent, NoEffectTable, UnknownTool, UnknownKey, NoCheckpoint
├── Conflict (409)
│   ├── StaleWriter, WrongRound, WrongStart, WrongEnd, DraftsPending, StreamFinished
│   ├── SpanNotDrafted, SpanOverlap, SpanOrder
│   ├── StreamOfAnotherWriter, BatchIdReused, ExistsWithDifferent, NotInDoubt, Redacted
│   ├── NotAwaitingApproval, ApprovalOfOtherArguments, ApprovalOfOtherDefinition
│   └── Contention
├── PreconditionFailed (412)
└── Unavailable (503)
    └── TooManyFollowers
"""

from typing import ClassVar


class GatewayError(Exception):
    """Base of all. ``detail`` says what happened this time; ``extra`` are members of the problem document."""

    code: ClassVar[str] = "gateway_error"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "The gateway could not do it"

    def __init__(self, detail: str, **extra: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extra = extra

    @property
    def stable_code(self) -> str:
        """The code that programs may rely on."""
        return self.code


class BadInput(GatewayError):
    """What was sent cannot be understood or is not allowed."""

    code = "bad_input"
    status = 422
    title = "Bad input"


class InvalidRequest(BadInput):
    """The body or a parameter has the wrong shape."""

    code = "invalid_request"
    title = "The request has the wrong shape"


class InvalidText(BadInput):
    """A string holds NUL or a lone surrogate, or the body is not UTF-8."""

    code = "invalid_text"
    title = "The request holds text that cannot be kept"


class RefusedJSON(BadInput):
    """A JSON text that two readers could read differently; the code is that of ``effects.strict_json``."""

    title = "The JSON text is not taken"

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self._code = code

    @property
    def stable_code(self) -> str:
        """``json_duplicate_name``, ``json_not_finite``, ``json_integer_range``, ``json_too_deep``."""
        return self._code


class UnknownBranch(BadInput):
    """The stream has no such branch."""

    code = "unknown_branch"
    title = "The stream has no such branch"


class NotSupported(BadInput):
    """A part of the interface that is not built yet; refused, never ignored."""

    code = "not_supported"
    title = "Not supported yet"


class InvalidEffects(BadInput):
    """The effect table was refused; ``path`` names the place."""

    code = "invalid_effects"
    title = "The effect table is not valid"


class LiteralSecret(InvalidEffects):
    """The effect table holds a secret itself and not a reference to it; ``path`` names the place."""

    code = "literal_secret"
    title = "A secret stands in the effect table"


class LocalUpstreamsOff(InvalidEffects):
    """The effect table would run code on the dispatcher's machine, and its tenant may not; ``path`` names the place."""

    code = "local_upstreams_off"
    title = "The effect table would run code here"


class UnknownForkOf(BadInput):
    """``fork_of`` names no stream of the tenant."""

    code = "unknown_fork_of"
    title = "No such stream to fork from"


class ForkOfItself(BadInput):
    """``fork_of`` names the stream that is being opened."""

    code = "fork_of_itself"
    title = "A stream is no fork of itself"


class ForksTooDeep(BadInput):
    """Too many messages would fork from each other."""

    code = "forks_too_deep"
    title = "Too many forks of forks"


class TooManyCalls(BadInput):
    """The message spells more calls than one message may hold."""

    code = "too_many_calls"
    title = "Too many calls in one message"


class DivergesFromTokens(BadInput):
    """What was posted is not what the tokens spell; ``field`` names the first field that differs."""

    code = "diverges_from_tokens"
    title = "The intent is not what the tokens spell"

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail, field=field)


class MalformedJSON(GatewayError):
    """The body is not one JSON text."""

    code = "malformed_json"
    status = 400
    title = "The body is not JSON"


class TooLarge(GatewayError):
    """The body is larger than the gateway takes."""

    code = "body_too_large"
    status = 413
    title = "The body is too large"


class UnsupportedMediaType(GatewayError):
    """The body comes as a type, in a charset or in an encoding that is not read here."""

    code = "unsupported_media_type"
    status = 415
    title = "The type of the body is not taken"


class Unauthorised(GatewayError):
    """No key, or one that is not known."""

    code = "unauthorised"
    status = 401
    title = "A key is needed"


class Forbidden(GatewayError):
    """The caller may not do this."""

    code = "forbidden"
    status = 403
    title = "Not allowed"


class ForbiddenHost(Forbidden):
    """The ``Host`` header names neither this machine nor a name that is allowed."""

    code = "forbidden_host"
    title = "This host name is not served"


class FailPointsRefused(Forbidden):
    """This process was told to kill itself, and it is none of a test's."""

    code = "fail_points_refused"
    title = "Fail points are for tests"


class ForbiddenOrigin(Forbidden):
    """A web page of another origin made the request."""

    code = "forbidden_origin"
    title = "Requests from this origin are not served"


class OpenRefused(Forbidden):
    """A gateway that nobody needs a key for listens on loopback only."""

    code = "open_refused"
    title = "A gateway without keys listens on loopback only"


class NotFound(GatewayError):
    """There is no such thing in this tenant."""

    code = "not_found"
    status = 404
    title = "Not found"


class UnknownCommitKey(NotFound):
    """No stream was opened under this commit key."""

    code = "unknown_commit_key"
    title = "No such commit key"

    def __init__(self, commit_key: str) -> None:
        super().__init__(f"no stream was opened under commit key {commit_key!r}")


class UnknownIntent(NotFound):
    """The stream has no such intent."""

    code = "unknown_intent"
    title = "No such intent"

    def __init__(self, intent_id: str) -> None:
        super().__init__(f"the stream has no intent {intent_id!r}")


class NoEffectTable(NotFound):
    """No effect table was ever put in force in this tenant."""

    code = "no_effect_table"
    title = "There is no effect table"

    def __init__(self, tenant: str) -> None:
        super().__init__(f"no effect table was ever in force in tenant {tenant!r}")


class UnknownTool(NotFound):
    """The effect table names no such tool."""

    code = "unknown_tool"
    title = "There is no such tool"

    def __init__(self, tool: str, where: str = "the effect table in force has no") -> None:
        super().__init__(f"{where} tool {tool!r}", tool=tool)


class UnknownKey(NotFound):
    """No API key has this id."""

    code = "unknown_key"
    title = "No such key"

    def __init__(self, key_id: str) -> None:
        super().__init__(f"no key has the id {key_id!r}")


class NoCheckpoint(NotFound):
    """Nothing is signed yet: the log is new, or nobody seals."""

    code = "no_checkpoint"
    title = "Nothing is signed yet"


class Conflict(GatewayError):
    """The stream does not stand where the request supposes."""

    code = "conflict"
    status = 409
    title = "Conflict"


class StaleWriter(Conflict):
    """Another writer has taken the stream over."""

    code = "stale_writer"
    title = "Another writer has taken over"


class WrongRound(Conflict):
    """The event or span belongs to another round."""

    code = "wrong_round"
    title = "Wrong round"


class WrongStart(Conflict):
    """Drafts must start at the drafted end, rulings at head."""

    code = "wrong_start"
    title = "Wrong start"


class WrongEnd(Conflict):
    """A ruling must end within what is drafted."""

    code = "wrong_end"
    title = "Wrong end"


class DraftsPending(Conflict):
    """Tokens cannot be accepted over drafts that nobody has ruled on."""

    code = "drafts_pending"
    title = "Drafts are pending"


class StreamFinished(Conflict):
    """The stream is over."""

    code = "stream_finished"
    title = "The stream is finished"


class StreamOfAnotherWriter(Conflict):
    """Finished calls are not written to a stream that a decoder or another front writes."""

    code = "stream_of_another_writer"
    title = "Another writer writes the stream"


class SpanNotDrafted(Conflict):
    """The span reaches beyond what is drafted; worth trying again."""

    code = "span_not_drafted"
    title = "The span is not drafted yet"

    def __init__(self, detail: str) -> None:
        super().__init__(detail, retryable=True)


class SpanOverlap(Conflict):
    """The span overlaps a living intent's without being equal to it."""

    code = "span_overlap"
    title = "The span overlaps another intent"


class SpanOrder(Conflict):
    """A living intent stands later in the branch already."""

    code = "span_order"
    title = "A later intent exists already"


class BatchIdReused(Conflict):
    """The batch id was used with another body."""

    code = "batch_id_reused"
    title = "The batch id was used before"


class ExistsWithDifferent(Conflict):
    """The thing exists and differs in ``field``."""

    title = "It exists with another value"

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail, field=field)
        self.field = field

    @property
    def stable_code(self) -> str:
        """``exists_with_different_<field>``."""
        return f"exists_with_different_{self.field}"


class NotInDoubt(Conflict):
    """Only an intent in doubt can be resolved, and only once."""

    code = "not_in_doubt"
    title = "The intent is not in doubt"


class NotAwaitingApproval(Conflict):
    """Only an intent that awaits approval can be approved or denied, and only once."""

    code = "not_awaiting_approval"
    title = "The intent awaits no approval"


class ApprovalOfOtherArguments(Conflict):
    """The approval names the digest of other arguments; ``arguments_digest`` is the intent's."""

    code = "approval_of_other_arguments"
    title = "The approval is for other arguments"


class ApprovalOfOtherDefinition(Conflict):
    """The approval is for something else than the effect table says of the tool; ``definition`` is the digest of what it says."""

    code = "approval_of_other_definition"
    title = "The approval is for another definition of the tool"


class Redacted(Conflict):
    """What it would be held against is redacted, so nobody can say whether it is the same."""

    code = "redacted"
    title = "It is redacted"


class Contention(Conflict):
    """Too many writers at once on one stream; worth trying again."""

    code = "contention"
    title = "Too much contention on the stream"


class PreconditionFailed(GatewayError):
    """``If-Match`` names another version."""

    code = "precondition_failed"
    status = 412
    title = "The version has changed"


class Unavailable(GatewayError):
    """The database cannot be reached now."""

    code = "unavailable"
    status = 503
    title = "The ledger cannot be reached"


class TooManyFollowers(Unavailable):
    """So many live event streams are open that no other fits in; worth trying again."""

    code = "too_many_followers"
    title = "Too many live event streams"
