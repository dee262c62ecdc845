"""``/v1/streams/{key}/intents``: posting calls, and waiting for what becomes of them."""

import time
from typing import Annotated

import anyio
from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from gateway.http.body import JSON, json_of, model_of, read_body
from gateway.http.caller import Call, Caller
from gateway.http.document import problems, takes
from gateway.http.masking import shown_intent
from gateway.http.places import IntentId, Key
from gateway.wire.posting import PostIntent
from gateway.wire.views import IntentView

MAX_WAIT = 60
"""Seconds that one request may wait."""

router = APIRouter(tags=["intents"])


@router.post(
    "/v1/streams/{key}/intents",
    operation_id="postIntent",
    status_code=202,
    response_model=IntentView,
    responses={
        200: {"model": IntentView, "description": "A replay"},
        **problems(400, 404, 409, 413, 415, 422),
    },
    openapi_extra=takes(PostIntent),
)
async def post_intent(request: Request, key: Key, call: Caller) -> JSONResponse:
    """Post the call that a block asks for; it must be what the tokens spell."""
    raw = await read_body(request, call.settings.body_limit, JSON)
    return await run_in_threadpool(_post, call, key, raw)


@router.get(
    "/v1/streams/{key}/intents/{id}",
    operation_id="showIntent",
    response_model=IntentView,
    responses=problems(404, 422),
)
async def show_intent(
    request: Request,
    key: Key,
    intent_id: IntentId,
    call: Caller,
    wait: Annotated[
        float,
        Query(ge=0, le=MAX_WAIT, allow_inf_nan=False, description="Seconds to wait for it to come to rest"),
    ] = 0,
    provisional: Annotated[bool, Query(description="Also an answer that is not final")] = False,
) -> JSONResponse:
    """The intent; with ``wait``, as soon as it is final, refused, denied, voided or in doubt."""
    until = time.monotonic() + wait
    while True:
        view, rests = await run_in_threadpool(
            call.services.intents.get, call.principal, key, intent_id, provisional=provisional
        )
        left = until - time.monotonic()
        if rests or left <= 0 or call.stopping() or await request.is_disconnected():
            return JSONResponse(await run_in_threadpool(shown_intent, call, view))
        await anyio.sleep(min(call.settings.poll_seconds, left))
        await call.still_admitted()


def _post(call: Call, key: str, raw: bytes) -> JSONResponse:
    asked = model_of(PostIntent, json_of(raw))
    view, replayed = call.services.intents.post(
        call.principal, key, asked.posted(), traceparent=call.traceparent
    )
    return JSONResponse(view, 200 if replayed else 202)
