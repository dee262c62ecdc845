"""Spans of a dispatch, under the trace of the request that asked for the call.

``execute_tool {tool}`` stands for the dispatch, ``POST`` below it for each transmission over HTTP; the MCP SDK makes its own
``MCP send tools/call`` there. Names are those of OpenTelemetry's conventions for generative AI and MCP (semantic-conventions-
genai 0.1, status Development); what they have no name for begins with ``commitgate.``. Arguments and answers are left out
unless they are asked for: they are what people send through.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urlsplit

import structlog
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

from gateway.tracing import traceparent_of, under
from gateway.turn.dispatching import Assignment
from gateway.upstream.trace import fresh_traceparent

# Spelled out, because the package that holds the names comes with the SDK; a test compares them.
OPERATION = "gen_ai.operation.name"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
TOOL_CALL_ID = "gen_ai.tool.call.id"
TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_CALL_RESULT = "gen_ai.tool.call.result"
EXECUTE_TOOL = "execute_tool"
MCP_METHOD = "mcp.method.name"
HTTP_METHOD = "http.request.method"
HTTP_RESENDS = "http.request.resend_count"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
ERROR_TYPE = "error.type"
TOOL_ERROR = "tool_error"


class DispatchSpans:
    """Makes them. ``content``: with arguments and answers. ``tracer``: None: that of the process."""

    def __init__(self, *, content: bool = False, tracer: Tracer | None = None) -> None:
        """See the class."""
        self._content = content
        self._own = tracer is not None
        self._tracer = tracer or trace.get_tracer("commitgate")

    @property
    def _made(self) -> bool:
        """Whether spans are more than what passes through: making them costs what a call can be spared."""
        return self._own or not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)

    @contextmanager
    def dispatch(self, call: Assignment) -> Iterator[Assignment]:
        """The span of one dispatch; gives the assignment as its child. Log lines within it carry whose they are."""
        if not self._made:
            child = call if call.traceparent else replace(call, traceparent=fresh_traceparent())
            with _named(child):
                yield child
            return
        told = self._of_dispatch(call)
        with self._tracer.start_as_current_span(
            f"{EXECUTE_TOOL} {call.tool}",
            under(call.traceparent),
            SpanKind.INTERNAL,
            told,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            child = _below(call, span)
            with _named(child):
                yield child

    @contextmanager
    def transmission(self, call: Assignment, resends: int) -> Iterator[Assignment]:
        """The span of one transmission; gives the assignment as its child. ``resends``: how many came before."""
        if call.upstream.http is None or not self._made:
            yield call
            return
        place = urlsplit(call.upstream.http)
        told: dict[str, str | int] = {
            HTTP_METHOD: "POST",
            SERVER_ADDRESS: place.hostname or "",
            SERVER_PORT: place.port or {"https": 443}.get(place.scheme, 80),
        }
        if resends:
            told[HTTP_RESENDS] = resends
        with self._tracer.start_as_current_span(
            "POST",
            kind=SpanKind.CLIENT,
            attributes=told,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield _below(call, span)

    def ended(self, outcome: str, *, failed: str | None, tries: int, content: object = None) -> None:
        """Say on the current dispatch's span how it ended. ``failed``: stable code of what went wrong."""
        span = trace.get_current_span()
        if not span.is_recording():
            return
        span.set_attributes({"commitgate.outcome": outcome, "commitgate.tries": tries})
        if self._content and content is not None:
            span.set_attribute(TOOL_CALL_RESULT, json.dumps(content, default=str))
        failing(failed)

    def _of_dispatch(self, call: Assignment) -> dict[str, str | int]:
        told: dict[str, str | int] = {
            OPERATION: EXECUTE_TOOL,
            TOOL_NAME: call.tool,
            TOOL_TYPE: "function",
            "commitgate.tenant": call.tenant,
            "commitgate.commit_key": call.commit_key,
            "commitgate.intent_id": call.intent_id,
            "commitgate.attempt": call.attempt,
            "commitgate.effect": call.effect.value,
            "commitgate.upstream": call.upstream.kind,
        }
        if call.call_id is not None:
            told[TOOL_CALL_ID] = call.call_id
        if call.upstream.mcp is not None:
            told[MCP_METHOD] = "tools/call"
            told["commitgate.mcp.server"] = call.upstream.mcp
        if self._content:
            told[TOOL_CALL_ARGUMENTS] = call.arguments_raw
        return told


def failing(code: str | None) -> None:
    """Say on the current span what went wrong; None: nothing did."""
    span = trace.get_current_span()
    if code is not None and span.is_recording():
        span.set_attribute(ERROR_TYPE, code)
        span.set_status(StatusCode.ERROR)


@contextmanager
def _named(call: Assignment) -> Iterator[None]:
    """Whose log lines these are."""
    tokens = structlog.contextvars.bind_contextvars(
        commit_key=call.commit_key,
        intent_id=call.intent_id,
        attempt=call.attempt,
        trace_id=None if call.traceparent is None else call.traceparent.split("-")[1],
    )
    try:
        yield
    finally:
        structlog.contextvars.reset_contextvars(**tokens)


def _below(call: Assignment, span: Span) -> Assignment:
    own = traceparent_of(span.get_span_context())
    return call if own is None else replace(call, traceparent=own)
