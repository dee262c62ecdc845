"""``/v1/streams/{key}/events``: writing token events, reading all events."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, Response

from effects.strict_json import MAX_INTEGER
from gateway.errors import NotSupported
from gateway.http.body import JSON, json_of, model_of, read_body
from gateway.http.caller import Call, Caller
from gateway.http.document import problems, takes
from gateway.http.places import Key
from gateway.wire.tokens import WriteEvents, refuse_unbuilt_events
from gateway.wire.views import EventsView, EventsWritten
from ledger.events import Event

REPLAYED = "Idempotent-Replayed"
"""Header of an answer that was given before: ``true``."""

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
    responses=problems(404, 422),
)
def read_events(
    key: Key,
    call: Caller,
    after: Annotated[int, Query(ge=0, le=MAX_INTEGER, description="Only events with a higher seq")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    accept: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> JSONResponse:
    """Events of the stream in order."""
    if "text/event-stream" in (accept or "").lower():
        raise NotSupported("a live event stream is not supported yet")
    found, seq = call.services.streams.events(call.principal, key, after=after, limit=limit)
    return JSONResponse({"events": [event_view(event) for event in found], "seq": seq})


def event_view(event: Event) -> dict[str, object]:
    """One event as callers see it: the members of its payload beside what all events have."""
    view: dict[str, object] = {
        **event.payload,
        "seq": event.seq,
        "type": event.type.value,
        "branch": event.branch,
        "at": event.at.isoformat(),
    }
    if event.intent_id is not None:
        view["intent_id"] = event.intent_id
    if event.attempt is not None:
        view["attempt"] = event.attempt
    return view


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
    )
    headers = {REPLAYED: "true"} if written.replayed else {}
    return Response(written.body, 200 if written.replayed else 201, headers, JSON)
