"""Whatever goes wrong, as a problem document (RFC 9457) with a stable code. No answer shows a traceback."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from effects.document import place
from effects.wording import fault_said
from gateway.errors import GatewayError, InvalidRequest, Unauthorised, UnsupportedMediaType
from gateway.wire.problem import MEDIA_TYPE, TYPE_PREFIX
from ledger import errors as ledger

MAX_ERRORS = 20
"""Places that one ``invalid_request`` names at most."""

CHALLENGE = 'Bearer realm="commitgate"'
"""What a caller without a key is asked for (RFC 6750, section 3)."""

_RETRY_SECONDS = "1"


@dataclass(frozen=True, slots=True)
class Trouble:
    """One problem: HTTP status, stable code, what all problems of the code are called, and what happened this time."""

    status: int
    code: str
    title: str
    detail: str
    extra: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


_UNREACHABLE = Trouble(503, "unavailable", "The ledger cannot be reached", "the database does not answer")
_NO_DATABASE = (OperationalError, InterfaceError, PoolTimeout)
_INTERNAL = Trouble(500, "internal_error", "The gateway failed", "the gateway failed; its log says why")

# Of each ledger error: status, code if not its own, title. Subclasses first; anything else is a fault of ours.
_LEDGER: tuple[tuple[type[ledger.LedgerError], int, str | None, str], ...] = (
    (ledger.LedgerUnavailable, 503, "unavailable", "The ledger cannot be reached"),
    (ledger.OutcomeUnknown, 503, None, "Whether it was written is not known"),
    (ledger.SchemaOutdated, 503, None, "The database schema is outdated"),
    (ledger.UnsafeLogin, 503, None, "The database login may not be used"),
    (ledger.MissingPrivileges, 503, None, "The database login may not write"),
    (ledger.AppendContention, 409, "contention", "Too much contention on the stream"),
    (ledger.BatchIdTaken, 409, "batch_id_reused", "The batch id was used before"),
    (ledger.LeaseLost, 409, None, "The lease is lost"),
    (ledger.LicenceRefused, 409, None, "The database refused the dispatch"),
    (ledger.UnwritableValue, 422, None, "A value cannot be written"),
    (ledger.UnreadableStream, 500, None, "The stream cannot be read"),
    (ledger.UnknownEvent, 404, None, "No such event"),
    (ledger.NotSealed, 409, None, "The event is not covered yet"),
    (ledger.ProofRefused, 422, None, "There is no such proof"),
    (ledger.BadCursor, 422, None, "The cursor cannot be used"),
)


def problem_of(error: BaseException) -> Trouble:
    """What to answer to ``error``; ``internal_error``, which tells nothing, for what nobody foresaw."""
    if isinstance(error, GatewayError):
        headers = {"WWW-Authenticate": CHALLENGE} if isinstance(error, Unauthorised) else {}
        return Trouble(error.status, error.stable_code, error.title, error.detail, error.extra, headers)
    if isinstance(error, ledger.LedgerError):
        return _of_ledger(error)
    if isinstance(error, _NO_DATABASE):
        return _UNREACHABLE
    if isinstance(error, RequestValidationError):
        return problem_of(invalid_request(error.errors()))
    if isinstance(error, ClientDisconnect):
        return Trouble(
            400, "body_broke_off", "The body broke off", "the client left before its body was read"
        )
    if isinstance(error, HTTPException):
        return _of_status(error)
    return _INTERNAL


def is_unavailable(error: BaseException) -> bool:
    """Whether ``error`` says that the database cannot be reached now: the same may work in a moment."""
    return problem_of(error).code == _UNREACHABLE.code


def invalid_request(faults: Sequence[Any]) -> InvalidRequest:
    """The error for pydantic's ``faults``; its problem lists the places (``errors[].place``) with a ``reason`` each."""
    errors = [{"place": _place(fault["loc"]), "reason": fault_said(fault)} for fault in faults[:MAX_ERRORS]]
    first = errors[0]
    return InvalidRequest(f"{first['place'] or 'body'}: {first['reason']}", errors=errors)


def response(trouble: Trouble) -> JSONResponse:
    """The problem document."""
    headers = dict(trouble.headers)
    if trouble.status == 503 or trouble.code == "contention":
        headers["Retry-After"] = _RETRY_SECONDS
    body = {
        **trouble.extra,
        "type": TYPE_PREFIX + trouble.code,
        "title": trouble.title,
        "status": trouble.status,
        "code": trouble.code,
        "detail": trouble.detail.encode("utf-8", "replace").decode(),
    }
    return JSONResponse(body, trouble.status, headers, MEDIA_TYPE)


def answer_with_problems(app: FastAPI) -> None:
    """Answer every error of ``app``'s routes with a problem."""

    async def handle(_request: Request, error: Exception) -> JSONResponse:
        trouble = problem_of(error)
        if trouble is _INTERNAL:
            # On to the outermost handler: it answers the same, and the server logs the error.
            raise error
        return response(trouble)

    async def fail(_request: Request, _error: Exception) -> JSONResponse:
        return response(_INTERNAL)

    known: tuple[type[Exception], ...] = (
        GatewayError,
        ledger.LedgerError,
        *_NO_DATABASE,
        RequestValidationError,
        ClientDisconnect,
        HTTPException,
    )
    for kind in known:
        app.add_exception_handler(kind, handle)
    app.add_exception_handler(Exception, fail)


def _of_ledger(error: ledger.LedgerError) -> Trouble:
    for kind, status, code, title in _LEDGER:
        if isinstance(error, kind):
            again = code in ("unavailable", "contention") or isinstance(error, ledger.NotSealed)
            retryable: dict[str, object] = {"retryable": True} if again else {}
            detail = _UNREACHABLE.detail if code == "unavailable" else str(error)
            return Trouble(status, code or error.code, title, detail, retryable)
    return _INTERNAL


def _of_status(error: HTTPException) -> Trouble:
    """Of what the framework refuses by itself: unknown routes and methods."""
    headers = dict(error.headers or {})
    status = HTTPStatus(error.status_code)
    if status is HTTPStatus.UNSUPPORTED_MEDIA_TYPE:
        return problem_of(UnsupportedMediaType(str(error.detail)))
    details = {
        HTTPStatus.NOT_FOUND: "nothing is served under this path",
        HTTPStatus.METHOD_NOT_ALLOWED: "this path does not take the method",
    }
    code = status.phrase.lower().replace(" ", "_").replace("-", "_")
    return Trouble(status, code, status.phrase, details.get(status, str(error.detail)), {}, headers)


def _place(steps: Sequence[str | int]) -> str:
    """``("events", 0, "tokens.drafted", "start")`` → ``events[0].start``: the tag of a union is no step of the document."""
    path = ""
    for step in steps:
        if not (isinstance(step, str) and step.startswith(("tokens.", "stream."))):
            path = place(path, step)
    return path
