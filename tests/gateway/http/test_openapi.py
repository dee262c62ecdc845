"""The OpenAPI document drives the front: nothing that it can generate makes a 5xx or an answer that it does not describe."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks

from gateway.http.app import create_app
from gateway.http.settings import HttpSettings
from gateway.service.services import Services
from tests.gateway.http.front import Body, Front, block, cut, drafted, serving

DOCUMENT = create_app(cast("Services", None), HttpSettings()).openapi()
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
LABELS = {result.ok().label: result.ok() for result in SCHEMA.get_all_operations() if isinstance(result, Ok)}
EXAMPLES = 30
QUERIES: dict[str, Body] = {
    "proveInclusion": {"commit_key": "_effects", "seq": 1},
    "proveConsistency": {"from": 0},
}
"""Queries that are answered, where one is needed."""
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


class Seeds:
    """Places and bodies that are taken, one after another: each leaves the next a stream of its own."""

    def __init__(self, front: Front) -> None:
        self.front = front
        self.text = block("put", name="b")

    def showStream(self) -> tuple[Body, Body | None]:  # noqa: N802 - named like the operation
        writer = self.front.open(source="detected")
        writer.accept(self.text)
        return {"key": writer.key}, None

    readEvents = showStream  # noqa: N815

    def writeEvents(self) -> tuple[Body, Body | None]:  # noqa: N802
        writer = self.front.open()
        return {"key": writer.key}, writer.batch(drafted(0, 0, self.text))

    def postIntent(self) -> tuple[Body, Body | None]:  # noqa: N802
        writer = self.front.open()
        writer.accept(self.text)
        span = [0, len(cut(self.text))]
        return {"key": writer.key}, {"span": span, "tool": "put", "arguments": {"name": "b"}}

    def showIntent(self) -> tuple[Body, Body | None]:  # noqa: N802
        key, intent_id = self.front.in_doubt()
        return {"key": key, "id": intent_id}, None

    def resolveDoubt(self) -> tuple[Body, Body | None]:  # noqa: N802
        key, intent_id = self.front.in_doubt()
        return {"key": key, "id": intent_id}, {"as": "not_happened", "reason": "the log does not have it"}

    def decideApproval(self) -> tuple[Body, Body | None]:  # noqa: N802
        intent = self.front.awaiting_approval()
        return {"key": intent["commit_key"], "id": intent["intent_id"]}, {"decision": "deny", "reason": "no"}

    def openStream(self) -> tuple[Body, Body | None]:  # noqa: N802
        return {}, {"tool_calls": {"format": "hermes", "from": "detected"}}

    def applyEffects(self) -> tuple[Body, Body | None]:  # noqa: N802
        return {}, {"tools": {"put": {"effect": "WRITE", "upstream": {"http": "http://127.0.0.1:9/put"}}}}

    def pauseDispatch(self) -> tuple[Body, Body | None]:  # noqa: N802
        return {}, {"reason": "a drill"}

    def resumeDispatch(self) -> tuple[Body, Body | None]:  # noqa: N802
        return {}, {"tool": None}

    def other(self) -> tuple[Body, Body | None]:
        return {}, None


def test_the_document_describes_every_operation() -> None:
    assert set(LABELS) == {
        "POST /v1/streams",
        "GET /v1/streams/{key}",
        "GET /v1/streams/{key}/events",
        "POST /v1/streams/{key}/events",
        "POST /v1/streams/{key}/intents",
        "GET /v1/streams/{key}/intents/{id}",
        "GET /v1/effects",
        "POST /v1/effects",
        "GET /v1/dispatch",
        "POST /v1/dispatch/pause",
        "POST /v1/dispatch/resume",
        "GET /v1/doubts",
        "POST /v1/doubts/{key}/{id}",
        "GET /v1/approvals",
        "POST /v1/approvals/{key}/{id}",
        "GET /healthz",
        "GET /v1/ledger/events",
        "GET /v1/ledger/checkpoint",
        "GET /v1/ledger/proofs/inclusion",
        "GET /v1/ledger/proofs/consistency",
        "GET /readyz",
        "GET /metrics",
    }


def test_the_document_holds_every_shape_that_it_refers_to() -> None:
    assert set(references(DOCUMENT)) <= {
        f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]
    }
    assert list(references({"anyOf": [{"$ref": "#/components/schemas/Nowhere"}]})) == [
        "#/components/schemas/Nowhere"
    ]


def test_serves_the_document(front: Front) -> None:
    assert front.client.get("/openapi.json").json() == DOCUMENT


@pytest.mark.parametrize("label", LABELS)
def test_nothing_generated_makes_a_server_error(front: Front, label: str) -> None:
    answered = drive(front.url, label, Seeds(front))
    assert any(200 <= status < 300 for status in answered), answered


def test_a_server_error_would_be_seen(front: Front) -> None:
    """The negative control of the test above."""

    def fail() -> None:
        raise RuntimeError

    broken = create_app(dataclasses.replace(front.services, ready=fail), HttpSettings())
    with serving(broken) as served, pytest.raises(FailureGroup):
        drive(served.url, "GET /readyz", Seeds(front))


def references(document: object) -> Iterator[str]:
    """Every place that the document refers to."""
    if isinstance(document, dict):
        if isinstance(document.get("$ref"), str):
            yield document["$ref"]
        for member in document.values():
            yield from references(member)
    elif isinstance(document, list):
        for element in document:
            yield from references(element)


def drive(url: str, label: str, seeds: Seeds) -> Counter[int]:
    """How often each status came of generated requests of one operation; every answer is checked."""
    operation = LABELS[label]
    seed: Callable[[], tuple[Body, Body | None]] = getattr(
        seeds, operation.definition.raw["operationId"], seeds.other
    )
    answered: Counter[int] = Counter()
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    cases = st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes])

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, lead=st.sampled_from(["nowhere", "to a place", "to an answer"]))
    def ask(case: Case[Any], lead: str) -> None:
        if lead != "nowhere":
            _lead(case, *seed(), whole=lead == "to an answer")
            if lead == "to an answer":
                case.query.update(QUERIES.get(operation.definition.raw["operationId"], {}))
        response = case.call(base_url=url, timeout=20)
        answered[response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    ask()
    return answered


def _lead(case: Case[Any], places: Body, body: Any, *, whole: bool) -> None:
    """Lead a generated case to a stream that exists, and with ``whole`` to a body that fits it."""
    case.path_parameters = {**case.path_parameters, **places}
    if not whole:
        if isinstance(case.body, dict) and "writer_epoch" in case.body:
            case.body["writer_epoch"] = 1
        return
    case.query.clear()
    case.headers.clear()
    case.cookies.clear()
    if body is not None:
        case.body, case.media_type = body, "application/json"
