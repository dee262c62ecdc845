"""``/v1/approvals``: what waits for a person, and the person's word."""

from fastapi import APIRouter, Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from gateway.errors import InvalidRequest
from gateway.http.body import JSON, json_of, model_of, read_body
from gateway.http.caller import Call, Caller
from gateway.http.document import problems, takes
from gateway.http.masking import shown_intents
from gateway.http.places import IntentId, Key
from gateway.http.preconditions import no_precondition
from gateway.wire.approvals import ApprovalsView, DecideApproval
from gateway.wire.views import IntentView

router = APIRouter(tags=["approvals"])


@router.get("/v1/approvals", operation_id="listApprovals", response_model=ApprovalsView, responses=problems())
def list_approvals(call: Caller) -> JSONResponse:
    """Every intent that awaits approval."""
    return JSONResponse({"approvals": shown_intents(call, call.services.approvals.list(call.principal))})


@router.post(
    "/v1/approvals/{key}/{id}",
    operation_id="decideApproval",
    response_model=IntentView,
    responses=problems(400, 404, 409, 413, 415, 422),
    openapi_extra=takes(DecideApproval),
    dependencies=[Depends(no_precondition)],
)
async def decide_approval(request: Request, key: Key, intent_id: IntentId, call: Caller) -> JSONResponse:
    """Approve or deny a call that awaits it, once. An approval lets it be sent once, with the arguments that it has,
    to the tool as it was asked about."""
    raw = await read_body(request, call.settings.body_limit, JSON)
    return await run_in_threadpool(_decide, call, key, intent_id, raw)


def _decide(call: Call, key: str, intent_id: str, raw: bytes) -> JSONResponse:
    asked = model_of(DecideApproval, json_of(raw))
    approvals, seen = call.services.approvals, asked.arguments_digest
    if asked.decision == "approve":
        view = approvals.approve(
            call.principal,
            key,
            intent_id,
            note=asked.reason,
            arguments_digest=seen,
            definition=asked.definition,
        )
    elif asked.reason is None:
        fault = {"place": "reason", "reason": "a denial needs a reason"}
        raise InvalidRequest("reason: a denial needs a reason", errors=[fault])
    else:
        view = approvals.deny(call.principal, key, intent_id, reason=asked.reason, arguments_digest=seen)
    return JSONResponse(view)
