"""``/healthz`` and ``/readyz``: whether the process lives, and whether it can work."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from gateway.http.caller import Caller
from gateway.http.document import problems
from gateway.wire.views import Alive

router = APIRouter(tags=["health"])


@router.get("/healthz", operation_id="alive", response_model=Alive, responses=problems())
async def alive() -> JSONResponse:
    """The process answers."""
    return JSONResponse({"status": "ok"})


@router.get("/readyz", operation_id="ready", response_model=Alive, responses=problems())
def ready(call: Caller) -> JSONResponse:
    """The database answers and has the schema that this gateway needs."""
    call.services.ready()
    return JSONResponse({"status": "ok"})
