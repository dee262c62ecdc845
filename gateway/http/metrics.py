"""``/metrics``: what a process and its ledger are doing, for Prometheus."""

from fastapi import APIRouter
from fastapi.responses import Response

from gateway.http.caller import Caller
from gateway.http.document import problems

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

router = APIRouter(tags=["health"])


@router.get(
    "/metrics",
    operation_id="showMetrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Text format 0.0.4"},
        **problems(),
    },
)
def show_metrics(call: Caller) -> Response:
    """Metrics in Prometheus' text format. It answers, too, while the database does not."""
    return Response(call.services.metrics(), media_type=MEDIA_TYPE)
