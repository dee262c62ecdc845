"""``/v1/doubts``: what may or may not have happened, and settling it by a person's word."""

from fastapi import APIRouter, Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from gateway.http.body import JSON, json_of, model_of, read_body
from gateway.http.caller import Call, Caller
from gateway.http.document import problems, takes
from gateway.http.masking import shown_intents
from gateway.http.places import IntentId, Key
from gateway.http.preconditions import no_precondition
from gateway.wire.doubts import DoubtsView, ResolveDoubt
from gateway.wire.views import IntentView

router = APIRouter(tags=["doubts"])


@router.get("/v1/doubts", operation_id="listDoubts", response_model=DoubtsView, responses=problems())
def list_doubts(call: Caller) -> JSONResponse:
    """Every intent in doubt."""
    return JSONResponse({"doubts": shown_intents(call, call.services.doubts.list(call.principal))})


@router.post(
    "/v1/doubts/{key}/{id}",
    operation_id="resolveDoubt",
    response_model=IntentView,
    responses=problems(400, 404, 409, 413, 415, 422),
    openapi_extra=takes(ResolveDoubt),
    dependencies=[Depends(no_precondition)],
)
async def resolve_doubt(request: Request, key: Key, intent_id: IntentId, call: Caller) -> JSONResponse:
    """Settle a doubt. Nothing is ever sent again under that intent."""
    raw = await read_body(request, call.settings.body_limit, JSON)
    return await run_in_threadpool(_resolve, call, key, intent_id, raw)


def _resolve(call: Call, key: str, intent_id: str, raw: bytes) -> JSONResponse:
    asked = model_of(ResolveDoubt, json_of(raw))
    view = call.services.doubts.resolve(
        call.principal,
        key,
        intent_id,
        happened=asked.verdict == "happened",
        reason=asked.reason,
        evidence=asked.evidence,
    )
    return JSONResponse(view)
