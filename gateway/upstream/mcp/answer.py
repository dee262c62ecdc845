"""What a call over MCP came to, judged in three layers: transport, protocol, tool.

The transport comes first: no answer, or an HTTP status that says neither yes nor no, leaves the call unclear whatever the
body says. Then the protocol: a JSON-RPC error is an answer, and the tool's. Then the tool: ``isError`` wins over whatever
else the result holds. A result is kept as it came; it is not held against the tool's output schema.
"""

import json
from dataclasses import replace
from typing import Any, Final

from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    jsonrpc_message_adapter,
)

from effects.canonical import canonical
from effects.classes import EffectClass
from effects.intent import ResultStatus
from effects.strict_json import JSONRefused
from gateway.turn.dispatching import Assignment
from gateway.upstream.content import content_of, truncated
from gateway.upstream.faults import is_unclear
from gateway.upstream.mcp.line import Odd
from gateway.upstream.mcp.passage import Passage
from gateway.upstream.port import Answered, Layer, MaybeSent, NotSent, Reply
from gateway.upstream.secrets import NOTHING, Resolved

NO_ANSWER: Final = "no_answer"
SESSION_EXPIRED: Final = "session_expired"
_ACCEPTED, _NOT_FOUND = 202, 404
_COMPLETE: Final = (None, "complete")
_BROKEN_OFF: Final = "Connection closed"
"""What a server of the SDK that is stopped answers to the calls that it breaks off, and the SDK here to those it waits for."""


def of_result(call: Assignment, result: dict[str, Any], told: Resolved = NOTHING) -> Reply:
    """The reply that a JSON-RPC result is. ``told``: secrets that the server knows and the ledger must not."""
    if isinstance(result, Odd):
        return Answered(ResultStatus.OK, _kept(call, told.hide(result.raw, cut=result.cut), cut=result.cut))
    kind = result.get("resultType")
    if kind == "input_required":
        # It asks for what nobody here gives, and has not done its work.
        return _protocol_error({"because": "input_required"})
    if kind not in _COMPLETE and "content" not in result:
        return MaybeSent("unfinished")
    failed = result.get("isError") is True
    content = _content(call, result, told)
    if failed:
        return Answered(ResultStatus.TOOL_ERROR, content, Layer.TOOL)
    return Answered(ResultStatus.OK, content)


def of_error(
    call: Assignment, passage: Passage, error: ErrorData, told: Resolved = NOTHING, *, in_session: bool
) -> Reply:
    """The reply that an error of the SDK stands for, which the server sent or the transport made up.

    ``told``: as in ``of_result``. ``in_session``: the server knows this connection by a session id, so that HTTP 404 means
    that it forgot it.
    """
    if passage.cut:
        return Answered(ResultStatus.OK, _kept(call, _body(passage, told), cut=True))
    if passage.fault is not None:
        return unclear(passage, passage.fault)
    if passage.status is None:
        return _without_secrets(_over_a_pipe(passage, error), told)
    return _without_secrets(_over_http(call, passage, error, told, in_session=in_session), told)


def _without_secrets(reply: Reply, told: Resolved) -> Reply:
    """``reply`` where its content repeats no secret."""
    if not told.secrets or not isinstance(reply, Answered):
        return reply
    return replace(reply, content=content_of(told.hide(json.dumps(reply.content).encode())))


def unclear(passage: Passage, because: str) -> NotSent | MaybeSent:
    """The reply where nothing came back: on which side of the line it was."""
    return MaybeSent(because) if passage.begun else NotSent(because)


def _over_a_pipe(passage: Passage, error: ErrorData) -> Reply:
    if not passage.begun or _is_lost(passage, error):
        return unclear(passage, "connection_lost")
    return _protocol_error(_error(error))


def _body(passage: Passage, told: Resolved) -> bytes:
    """What is kept of the answer; of one that is not whole, without what a secret may begin with."""
    return told.hide(bytes(passage.body), cut=passage.cut or passage.is_stream)


def _over_http(
    call: Assignment, passage: Passage, error: ErrorData, told: Resolved, *, in_session: bool
) -> Reply:
    status = passage.status or 0
    if is_unclear(status):
        return MaybeSent(f"http_{status}")
    if status == _ACCEPTED:
        return MaybeSent(NO_ANSWER)
    if status == _NOT_FOUND and in_session and error.code not in (METHOD_NOT_FOUND, INVALID_PARAMS):
        return _expired(call)
    if status >= 300 and not _is_error(passage):
        said = content_of(_body(passage, told))
        body = {"layer": Layer.TRANSPORT.value, "http_status": status, "body": said}
        return Answered(ResultStatus.TOOL_ERROR, body, Layer.TRANSPORT)
    if _is_lost(passage, error):
        return MaybeSent("connection_lost")
    if not passage.is_stream and not _is_error(passage):
        return Answered(ResultStatus.OK, _kept(call, _body(passage, told), cut=False))
    if passage.is_stream and error.code == PARSE_ERROR:
        return Answered(ResultStatus.OK, _kept(call, _body(passage, told), cut=False))
    return _protocol_error(_error(error))


def _expired(call: Assignment) -> Reply:
    """The server does not know the session (any more), so it did not look at the call. What may be sent again is; to a
    WRITE the refusal is the answer, as every other HTTP 4xx is."""
    if call.effect is EffectClass.READ_ONLY or (call.effect is EffectClass.IDEMPOTENT and call.window):
        return MaybeSent(SESSION_EXPIRED)
    content = {"layer": Layer.TRANSPORT.value, "because": SESSION_EXPIRED, "http_status": _NOT_FOUND}
    return Answered(ResultStatus.TOOL_ERROR, content, Layer.TRANSPORT)


def _is_lost(passage: Passage, error: ErrorData) -> bool:
    """Whether ``error`` means that no answer came: its code is also one that servers choose for theirs, so what came over
    the wire counts, unless the server says by it that it broke the call off."""
    if error.code != CONNECTION_CLOSED:
        return False
    said = passage.refused or (_was_told(passage, error) if passage.is_stream else _is_error(passage))
    return not said or error.message == _BROKEN_OFF


def _was_told(passage: Passage, error: ErrorData) -> bool:
    """Whether the stream ends with ``error``. One longer than what is kept of the end is not found: then it is lost."""
    lines = bytes(passage.tail).splitlines()
    told = [line.removeprefix(b"data:") for line in lines if line.startswith(b"data:")]
    try:
        message = jsonrpc_message_adapter.validate_json(told[-1] if told else b"", by_name=False)
    except ValueError:
        return False
    return isinstance(message, JSONRPCError) and message.error == error


def _is_error(passage: Passage) -> bool:
    """Whether the body of an answer is a JSON-RPC error: the SDK makes one up where it is none."""
    try:
        message = jsonrpc_message_adapter.validate_json(bytes(passage.body), by_name=False)
    except ValueError:
        return False
    return hasattr(message, "error")


def _error(error: ErrorData) -> dict[str, object]:
    return {"error": error.model_dump(mode="json", exclude_none=True)}


def _protocol_error(said: dict[str, object]) -> Answered:
    return Answered(ResultStatus.TOOL_ERROR, {"layer": Layer.PROTOCOL.value, **said}, Layer.PROTOCOL)


def _content(call: Assignment, result: dict[str, Any], told: Resolved) -> object:
    try:
        spelled = canonical(result)
    except JSONRefused:
        # A number that two readers read differently, and the like: kept as text.
        spelled = repr(result).encode("utf-8", "backslashreplace")
        return _kept(call, told.hide(spelled), cut=False)
    if told.secrets:
        return _kept(call, told.hide(spelled), cut=False)
    return result if len(spelled) <= call.max_result else truncated(spelled, call.max_result)


def _kept(call: Assignment, raw: bytes, *, cut: bool) -> object:
    return truncated(raw, call.max_result) if cut or len(raw) > call.max_result else content_of(raw)
