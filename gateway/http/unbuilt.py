"""Calls of interface.md that are not built yet: refused by name, never taken for a mistyped path."""

from fastapi import APIRouter

from gateway.errors import NotSupported

router = APIRouter(include_in_schema=False)

UNBUILT = {
    "/v1/reconciliations": "reconciling over HTTP is",
    "/v1/reconciliations/{run_id}": "reconciling over HTTP is",
    "/v1/reconciliations/{run_id}/findings": "reconciling over HTTP is",
}


def _refuse(path: str, what: str) -> None:
    @router.api_route(path, methods=["GET", "POST"], name=f"not supported: {path}")
    def refuse() -> None:
        raise NotSupported(f"{what} not supported yet")


for _path, _what in UNBUILT.items():
    _refuse(_path, _what)
