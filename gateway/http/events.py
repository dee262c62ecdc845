"""``/v1/streams/{key}/events``: writing token events, reading all events."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response

from effects.strict_json import MAX_INTEGER
from gateway.errors import InvalidRequest
from gateway.http.body import JSON, json_of, model_of, read_body
from gateway.http.caller import Call, Caller
from gateway.http.document import problems, takes
from gateway.http.live import EVENT_STREAM, last_seq, live_events, wants_live
from gateway.http.masking import shown_events
from gateway.http.places import Key
from gateway.wire.tokens import WriteEvents, refuse_unbuilt_events
from gateway.wire.views import EventsView, EventsWritten

REPLAYED = "Idempotent-Replayed"
"""Header of an answer that was given before: ``true``."""

_READ = "Events in order; as server-sent events, `id` is the seq and `data` the event"

router = APIRouter(tags=["streams"])


@router.post(
    "/v1/streams/{key}/events",
    operation_id="writeEvents",
    status_code=201,
    response_model=EventsWritten,
    responses={
        200: {"model": EventsWritten, "description": "A replay"},
        **problems(400, 404, 409, 413, 415, 422),
    },
    openapi_extra=takes(WriteEvents),
)
async def write_events(request: Request, key: Key, call: Caller) -> Response:
    """Write a batch of token events, and all that follows from it, or nothing."""
    raw = await read_body(request, call.settings.body_limit, JSON)
    return await run_in_threadpool(_write, call, key, raw)


@router.get(
    "/v1/streams/{key}/events",
    operation_id="readEvents",
    response_model=EventsView,
    responses={
        200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}, "description": _READ},
        204: {"description": "A live stream was resumed, and nothing more is to be expected"},
        **problems(404, 422),
    },
)
async def read_events(
    key: Key,
    call: Caller,
    after: Annotated[int, Query(ge=0, le=MAX_INTEGER, description="Only events with a higher seq")] = 0,
    limit: Annotated[
        int | None, Query(ge=1, le=1000, description="100 if not given; a live stream has none")
    ] = None,
    last_event_id: Annotated[
        str | None, Header(description="Seq that a live stream was cut off behind; counts more than `after`")
    ] = None,
    accept: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Response:
    """Events of the stream in order; with `Accept: text/event-stream` as they come, until nothing more is expected."""
    if not wants_live(accept):
        return await run_in_threadpool(_read, call, key, after, 100 if limit is None else limit)
    if limit is not None:
        told = [{"place": "limit", "reason": "a live stream has no limit"}]
        raise InvalidRequest("limit: a live stream has no limit", errors=told)
    after = last_seq(last_event_id, after)
    return await live_events(call, key, after=after, reconnects=bool(last_event_id))


def _read(call: Call, key: str, after: int, limit: int) -> JSONResponse:
    found, seq = call.services.streams.events(call.principal, key, after=after, limit=limit)
    return JSONResponse({"events": shown_events(call, key, found), "seq": seq})


def _write(call: Call, key: str, raw: bytes) -> Response:
    body = json_of(raw)
    refuse_unbuilt_events(body)
    asked = model_of(WriteEvents, body)
    written = call.services.streams.write(
        call.principal,
        key,
        asked.writer_epoch,
        asked.token_events(),
        batch_id=asked.batch_id,
        raw_body=raw,
        traceparent=call.traceparent,
    )
    headers = {REPLAYED: "true"} if written.replayed else {}
    return Response(written.body, 200 if written.replayed else 201, headers, JSON)
