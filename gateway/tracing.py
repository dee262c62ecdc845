"""Spans by OpenTelemetry's API: what a process does for one call, under the trace that the caller began.

Only the API is needed. Without an SDK nothing is recorded, and a caller's trace context passes through unchanged. With one
(``pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http``) the standard variables say where spans go:
``OTEL_TRACES_EXPORTER``, ``OTEL_EXPORTER_OTLP_ENDPOINT``, ``OTEL_SERVICE_NAME``, ``OTEL_SDK_DISABLED``.
"""

import os
from importlib.metadata import entry_points

import structlog
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

EXPORTER, ENDPOINTS, OFF = (
    "OTEL_TRACES_EXPORTER",
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
    "OTEL_SDK_DISABLED",
)
_SERVICE_NAME = "OTEL_SERVICE_NAME"
_PROPAGATOR = TraceContextTextMapPropagator()

_log = structlog.get_logger(__name__)


def current_traceparent() -> str | None:
    """The trace context of the span that is current here; None where there is none."""
    return traceparent_of(trace.get_current_span().get_span_context())


def traceparent_of(span: trace.SpanContext) -> str | None:
    """A span's context as a ``traceparent`` (W3C Trace Context, section 3.2); None for an invalid one."""
    if not span.is_valid:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"


def under(traceparent: str | None) -> Context:
    """The context whose current span is the sender of ``traceparent``; without one, a context of its own."""
    return Context() if traceparent is None else _PROPAGATOR.extract({"traceparent": traceparent}, Context())


def configure_traces(service: str) -> bool:
    """Send spans where the standard variables say, if an SDK is installed; whether they are sent.

    ``service``: name of the process where OTEL_SERVICE_NAME gives none. What cannot be done is logged, never raised:
    a gateway works without its traces.
    """
    asked = os.environ.get(EXPORTER) or (
        "otlp" if any(os.environ.get(name) for name in ENDPOINTS) else "none"
    )
    if asked == "none" or os.environ.get(OFF, "").lower() == "true":
        return False
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        [exporter] = entry_points(group="opentelemetry_traces_exporter", name=asked)
        named = {} if os.environ.get(_SERVICE_NAME) else {"service.name": service}
        provider = TracerProvider(resource=Resource.create(named))
        provider.add_span_processor(BatchSpanProcessor(exporter.load()()))
    except Exception as error:  # noqa: BLE001 - whatever an exporter raises, calls go on without traces
        _log.warning("traces_not_sent", exporter=asked, error=f"{type(error).__name__}: {error}")
        return False
    trace.set_tracer_provider(provider)
    return True
