"""``/v1/streams``: opening, taking over, reading."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from gateway.errors import InvalidRequest, UnknownCommitKey
from gateway.http.body import JSON, json_of, model_of, read_body
from gateway.http.caller import Call, Caller
from gateway.http.document import problems, takes
from gateway.http.masking import shown_stream
from gateway.http.places import Key
from gateway.traceparent import TRACE_LABEL
from gateway.turn.opening import StreamTerms
from gateway.wire.opening import OpenStream, refuse_unbuilt_terms
from gateway.wire.views import StreamOpened, StreamView

router = APIRouter(tags=["streams"])


@router.post(
    "/v1/streams",
    operation_id="openStream",
    status_code=201,
    response_model=StreamOpened,
    responses={
        200: {"model": StreamOpened, "description": "Taken over"},
        **problems(400, 409, 413, 415, 422),
    },
    openapi_extra=takes(OpenStream),
)
async def open_stream(request: Request, call: Caller) -> JSONResponse:
    """Open a stream (201), or take over the one that has the commit key (200, with a higher writer epoch)."""
    raw = await read_body(request, call.settings.body_limit, JSON)
    return await run_in_threadpool(_open, call, raw)


@router.get(
    "/v1/streams/{key}", operation_id="showStream", response_model=StreamView, responses=problems(404, 422)
)
def show_stream(
    key: Key, call: Caller, ids: Annotated[bool, Query(description="Also the accepted token ids")] = False
) -> JSONResponse:
    """The whole stream: where its branches stand, what is accepted, every intent, how it ended."""
    return JSONResponse(shown_stream(call, call.services.streams.show(call.principal, key, with_ids=ids)))


def _open(call: Call, raw: bytes) -> JSONResponse:
    body = json_of(raw)
    refuse_unbuilt_terms(body)
    asked = model_of(OpenStream, body)
    if asked.tool_calls is None and not _exists(call, asked.commit_key):
        errors = [{"place": "tool_calls", "reason": "missing"}]
        raise InvalidRequest("tool_calls: a new stream needs it", errors=errors)
    view, created = call.services.streams.open(call.principal, asked.commit_key, _terms(call, asked))
    return JSONResponse(view, 201 if created else 200)


def _terms(call: Call, asked: OpenStream) -> StreamTerms:
    terms = asked.terms()
    if call.traceparent is None or TRACE_LABEL in terms.labels:
        return terms
    return replace(terms, labels={**terms.labels, TRACE_LABEL: call.traceparent})


def _exists(call: Call, commit_key: str | None) -> bool:
    if commit_key is None:
        return False
    try:
        call.services.streams.state(call.principal, commit_key)
    except UnknownCommitKey:
        return False
    return True
