"""``/v1/effects``: the effect table in force, and putting another in force."""

from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from effects.strict_json import JSONValue
from gateway.errors import InvalidRequest, InvalidText, PreconditionFailed
from gateway.http.body import JSON, YAML, json_of, media_type, read_body, text_of
from gateway.http.caller import Call, Caller
from gateway.http.document import problems, takes_content
from gateway.http.preconditions import etag, wanted_tags
from gateway.turn.tables import TableInForce
from gateway.wire.effects import TABLE_SCHEMA, EffectsView

router = APIRouter(tags=["effects"])

_ETAG = {"ETag": {"description": "The version in force", "schema": {"type": "string"}}}


@router.get(
    "/v1/effects",
    operation_id="showEffects",
    response_model=EffectsView,
    responses={200: {"description": "The table in force", "headers": _ETAG}, **problems()},
)
def show_effects(call: Caller) -> JSONResponse:
    """The effect table in force; ``ETag`` is its version."""
    return _answer(call.services.tables.show(call.principal))


@router.post(
    "/v1/effects",
    operation_id="applyEffects",
    response_model=EffectsView,
    responses={
        200: {"description": "The table in force now", "headers": _ETAG},
        **problems(400, 412, 413, 415, 422),
    },
    openapi_extra=takes_content({JSON: {"schema": TABLE_SCHEMA}, YAML: {"schema": TABLE_SCHEMA}}),
)
async def apply_effects(
    request: Request,
    call: Caller,
    if_match: Annotated[
        str | None, Header(description="Only if this version is in force: its ETag, or *")
    ] = None,
) -> JSONResponse:
    """Put a table in force: a JSON object, or the same as YAML. An equal table changes nothing."""
    raw = await read_body(request, call.settings.body_limit, JSON, YAML)
    return await run_in_threadpool(_apply, call, raw, media_type(request, JSON, YAML), if_match)


def _apply(call: Call, raw: bytes, type_: str, if_match: str | None) -> JSONResponse:
    source = _object(json_of(raw)) if type_ == JSON else _yaml(raw)
    expected = _expected(call, wanted_tags(if_match))
    return _answer(call.services.tables.apply(call.principal, source, expected_version=expected))


def _object(value: JSONValue) -> dict[str, JSONValue]:
    if not isinstance(value, dict):
        raise InvalidRequest(
            "an effect table is an object", errors=[{"place": "", "reason": "not an object"}]
        )
    return value


def _yaml(raw: bytes) -> str:
    text = text_of(raw)
    if "\0" in text:
        raise InvalidText("the text holds the character NUL")
    return text


def _expected(call: Call, tags: frozenset[str] | None) -> int | None:
    """The version that a precondition asks for."""
    if tags is None:
        return None
    version = call.services.tables.show(call.principal).version
    if str(version) not in tags:
        raise PreconditionFailed(f"version {version} is in force", version=version)
    return version


def _answer(force: TableInForce) -> JSONResponse:
    body = {"version": force.version, "digest": force.table.digest, "table": force.table.document()}
    return JSONResponse(body, headers=etag(force.version))
