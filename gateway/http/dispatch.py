"""``/v1/dispatch``: what holds calls back, and pausing and resuming by an operator's word."""

from collections.abc import Callable
from typing import Annotated

import structlog
from fastapi import APIRouter, Header, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from gateway.http.body import JSON, json_of, model_of, read_body
from gateway.http.caller import Call, Caller
from gateway.http.document import Responses, problems, takes
from gateway.http.preconditions import etag, wanted_tags
from gateway.service.views import View
from gateway.wire.dispatch import DispatchView, PauseDispatch

_log = structlog.get_logger(__name__)
router = APIRouter(tags=["dispatch"])

_ETAG = {"ETag": {"description": "Names what is paused", "schema": {"type": "string"}}}
_ANSWER: Responses = {200: {"description": "What holds calls back now", "headers": _ETAG}}

IfMatch = Annotated[str | None, Header(description="Only if this is paused: its ETag, or *")]


@router.get(
    "/v1/dispatch",
    operation_id="showDispatch",
    response_model=DispatchView,
    response_model_exclude_none=True,
    responses={**_ANSWER, **problems()},
)
def show_dispatch(call: Caller) -> JSONResponse:
    """What is paused, what is used of limits, and which tools send no read early; ``ETag`` names what is paused."""
    return _answer(call.services.braking.status(call.principal))


@router.post(
    "/v1/dispatch/pause",
    operation_id="pauseDispatch",
    response_model=DispatchView,
    responses={**_ANSWER, **problems(400, 404, 412, 413, 415, 422)},
    openapi_extra=takes(PauseDispatch),
)
async def pause_dispatch(request: Request, call: Caller, if_match: IfMatch = None) -> JSONResponse:
    """Send a tool, or any tool, no more. Once this has answered, no dispatcher begins to send it."""
    return await _change(request, call, if_match, lambda asked, tags: call.services.braking.pause(
        call.principal, asked.tool, reason=asked.reason, if_tags=tags
    ))  # fmt: skip


@router.post(
    "/v1/dispatch/resume",
    operation_id="resumeDispatch",
    response_model=DispatchView,
    responses={**_ANSWER, **problems(400, 412, 413, 415, 422)},
    openapi_extra=takes(PauseDispatch),
)
async def resume_dispatch(request: Request, call: Caller, if_match: IfMatch = None) -> JSONResponse:
    """Send a tool again, or lift the pause of all tools together; tools that were paused by name stay so."""
    return await _change(request, call, if_match, lambda asked, tags: call.services.braking.resume(
        call.principal, asked.tool, reason=asked.reason, if_tags=tags
    ))  # fmt: skip


Act = Callable[[PauseDispatch, frozenset[str] | None], View]


async def _change(request: Request, call: Call, if_match: str | None, act: Act) -> JSONResponse:
    raw = await read_body(request, call.settings.body_limit, JSON)
    asked = model_of(PauseDispatch, json_of(raw))
    view = await run_in_threadpool(act, asked, wanted_tags(if_match))
    caller = call.principal
    about = {"tenant": caller.tenant, "tool": asked.tool or "*", "by": caller.name, "reason": asked.reason}
    if view.get("was_paused", True):
        _log.warning("dispatch_resumed" if "was_paused" in view else "dispatch_paused", **about)
    return _answer(view)


def _answer(view: View) -> JSONResponse:
    return JSONResponse(view, headers=etag(view["tag"]))
