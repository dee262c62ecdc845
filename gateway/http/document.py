"""The OpenAPI document: shapes of bodies that are read as bytes, problems that any operation may answer with."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gateway.http.access import needed
from gateway.wire.problem import MEDIA_TYPE, Problem

_REF = "#/components/schemas/{model}"
_bodies: dict[str, type[BaseModel]] = {}
"""Every shape that an operation takes, by the name under which the document refers to it."""

_SAID = {
    400: "The body is not JSON",
    401: "A key is needed: none was sent, or one that is not known, revoked or expired",
    403: "The host or origin is not served, or the role is missing",
    404: "There is no such thing",
    409: "The stream does not stand where the request supposes",
    412: "The version has changed",
    413: "The body is too large",
    415: "The type of the body is not taken",
    422: "The request has the wrong shape, or is not allowed",
    503: "The ledger cannot be reached",
}

Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """The problem answers of one operation; 401, 403 and 503 are always among them."""
    content = {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}}
    return {s: {"description": _SAID[s], "content": content} for s in sorted({401, 403, 503, *statuses})}


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """The ``openapi_extra`` of an operation whose JSON body has the shape of ``model``, which the document then holds."""
    _bodies[model.__name__] = model
    return takes_content({"application/json": {"schema": {"$ref": _REF.format(model=model.__name__)}}})


def takes_content(content: dict[str, Any]) -> dict[str, Any]:
    """The ``openapi_extra`` of an operation with a body of one of several media types."""
    return {"requestBody": {"required": True, "content": content}}


def _ask_for_keys(document: dict[str, Any]) -> None:
    schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
    schemes["key"] = {"type": "http", "scheme": "bearer", "description": "`commitgate keys create`"}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            roles = needed(method.upper(), path)
            operation["security"] = [{"key": []}, {}] if roles else []
            if roles:
                operation["x-roles"] = sorted(role.value for role in roles)


def describe(app: FastAPI) -> None:
    """Let ``app`` answer ``/openapi.json`` with the shapes of all bodies in it."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            _ask_for_keys(document)
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            modes = [(model, "validation") for model in _bodies.values()]
            _, bodies = models_json_schema([*modes, (Problem, "serialization")], ref_template=_REF)  # type: ignore[list-item]
            for name, schema in bodies["$defs"].items():
                schemas.setdefault(name, schema)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
