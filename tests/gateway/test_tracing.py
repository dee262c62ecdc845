"""Where spans go: as the standard variables say, and nowhere without them."""

from __future__ import annotations

import subprocess
import sys

import pytest
import structlog
from opentelemetry import trace

from gateway.tracing import ENDPOINTS, EXPORTER, OFF, configure_traces, current_traceparent, under

SCRIPT = """
from gateway.tracing import configure_traces
assert configure_traces("commitgate-gateway")
from opentelemetry import trace
with trace.get_tracer("t").start_as_current_span("execute_tool x"):
    pass
trace.get_tracer_provider().shutdown()
"""


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (EXPORTER, OFF, *ENDPOINTS):
        monkeypatch.delenv(name, raising=False)


def test_spans_go_where_the_variables_say() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env={EXPORTER: "console"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert '"name": "execute_tool x"' in done.stdout
    assert '"service.name": "commitgate-gateway"' in done.stdout


def test_without_variables_or_switched_off_they_go_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    before = trace.get_tracer_provider()
    assert not configure_traces("x")
    monkeypatch.setenv(EXPORTER, "console")
    monkeypatch.setenv(OFF, "true")
    assert not configure_traces("x")
    assert trace.get_tracer_provider() is before


def test_an_exporter_that_is_not_there_is_told_and_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXPORTER, "no-such-exporter")
    with structlog.testing.capture_logs() as lines:
        assert not configure_traces("x")
    assert [(line["event"], line["exporter"]) for line in lines] == [("traces_not_sent", "no-such-exporter")]


def test_a_trace_context_survives_the_way_through() -> None:
    sent = f"00-{'a' * 32}-{'b' * 16}-01"
    assert current_traceparent() is None
    assert current_in(sent) == sent
    assert current_in(None) is None


def current_in(sent: str | None) -> str | None:
    from opentelemetry.context import attach, detach

    token = attach(under(sent))
    try:
        return current_traceparent()
    finally:
        detach(token)
