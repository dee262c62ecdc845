"""Traces: a caller's trace reaches the tool, and the spans between say whose call it was and not what was in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as gen_ai
from opentelemetry.semconv.attributes import error_attributes, http_attributes, server_attributes
from opentelemetry.trace import SpanKind, StatusCode

from effects.intent import IntentState
from gateway.dispatcher import spans as names
from gateway.dispatcher.spans import DispatchSpans
from gateway.principal import everyone
from gateway.traceparent import parsed_traceparent
from gateway.turn.opening import StreamTerms
from gateway.turn.tokens import TokenEvent
from ledger.events import EventType
from tests.gateway.dispatcher.floor import TENANT, Floor, Turn, spelled
from tests.gateway.toolserver import eventually, ok, status

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


class Recorder:
    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self._tracer = provider.get_tracer("test")

    def spans(self, *, content: bool = False) -> DispatchSpans:
        return DispatchSpans(content=content, tracer=self._tracer)

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        [span] = eventually(lambda: self.named(name) or None)
        return span


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder()
    yield made
    made.exporter.shutdown()


def traced(floor: Floor, tool: str, sent: str | None = PARENT, **labels: object) -> Turn:
    """A stream with one accepted call, asked for under a trace."""
    key = f"traced-{tool}"
    terms = StreamTerms(source="detected", labels=labels)
    view, _ = floor.streams.open(everyone(TENANT), key, terms)
    turn = Turn(floor, key, int(str(view["writer_epoch"])))
    tokens = [{"text": spelled(tool, {"key": "secret-argument"})}]
    drafted = TokenEvent(EventType.TOKENS_ACCEPTED, {"round": 0, "tokens": tokens})
    floor.streams.write(everyone(TENANT), key, turn.epoch, [drafted], traceparent=sent)
    return turn


def test_a_call_is_a_span_under_its_callers_and_its_request_one_below(
    floor: Floor, recorder: Recorder
) -> None:
    floor.tools.behave("/write", ok({"answer": "secret-answer"}))
    turn = traced(floor, "write")
    with floor.dispatching(spans=recorder.spans()):
        intent = turn.until(IntentState.SETTLED, final=True)
        dispatch, request = recorder.one("execute_tool write"), recorder.one("POST")
    assert dispatch.context is not None
    assert dispatch.parent is not None
    assert f"{dispatch.context.trace_id:032x}" == TRACE
    assert f"{dispatch.parent.span_id:016x}" == PARENT.split("-")[2]
    assert dispatch.kind is SpanKind.INTERNAL
    assert dict(dispatch.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "write",
        "gen_ai.tool.type": "function",
        "commitgate.tenant": TENANT,
        "commitgate.commit_key": turn.key,
        "commitgate.intent_id": intent.intent_id,
        "commitgate.attempt": 1,
        "commitgate.effect": "WRITE",
        "commitgate.upstream": "http",
        "commitgate.outcome": "ok",
        "commitgate.tries": 1,
    }
    assert request.parent is not None
    assert request.parent.span_id == dispatch.context.span_id
    assert request.kind is SpanKind.CLIENT
    [received] = floor.tools.received("/write")
    assert request.context is not None
    assert received.headers["traceparent"] == f"00-{TRACE}-{request.context.span_id:016x}-01"
    told = "".join(span.to_json() for span in recorder.exporter.get_finished_spans())
    assert "secret" not in told


def test_without_an_sdk_the_callers_context_passes_through(floor: Floor) -> None:
    turn = traced(floor, "read")
    with floor.dispatching():
        turn.until(IntentState.SETTLED, final=True)
    assert floor.tools.received("/read")[0].headers["traceparent"] == PARENT


def test_the_stream_s_own_trace_counts_where_the_request_has_none(floor: Floor) -> None:
    turn = traced(floor, "read", None, traceparent=PARENT)
    with floor.dispatching():
        turn.until(IntentState.SETTLED, final=True)
    assert floor.tools.received("/read")[0].headers["traceparent"] == PARENT


def test_a_label_that_is_no_trace_context_is_none(floor: Floor) -> None:
    turn = traced(floor, "read", None, traceparent="so what")
    with floor.dispatching():
        turn.until(IntentState.SETTLED, final=True)
    assert parsed_traceparent(floor.tools.received("/read")[0].headers["traceparent"]) is not None


def test_a_tool_error_is_an_error_of_both_spans_and_content_is_there_where_it_is_asked_for(
    floor: Floor, recorder: Recorder
) -> None:
    floor.tools.behave("/write", status(422, b'{"why": "no"}'))
    turn = traced(floor, "write")
    with floor.dispatching(spans=recorder.spans(content=True)):
        turn.until(IntentState.SETTLED, final=True)
        dispatch = recorder.one("execute_tool write")
    told = dispatch.attributes or {}
    assert dispatch.status.status_code is StatusCode.ERROR
    assert told["error.type"] == "tool_error"
    assert told["gen_ai.tool.call.arguments"] == '{"key": "secret-argument"}'
    assert told["gen_ai.tool.call.result"] == '{"why": "no"}'
    assert recorder.one("POST").status.status_code is StatusCode.ERROR


def test_each_transmission_is_a_span_and_a_doubt_says_why(floor: Floor, recorder: Recorder) -> None:
    floor.tools.behave("/read", status(503), ok())
    read = traced(floor, "read")
    floor.tools.behave("/write", status(503))
    write = traced(floor, "write")
    with floor.dispatching(spans=recorder.spans()):
        read.until(IntentState.SETTLED, final=True)
        write.until(IntentState.IN_DOUBT)
        dispatch = recorder.one("execute_tool write")
        eventually(lambda: len(recorder.named("POST")) == 3)
    assert (dispatch.attributes or {})["error.type"] == "http_503"
    resends = {(span.attributes or {}).get("http.request.resend_count", 0) for span in recorder.named("POST")}
    assert resends == {0, 1}


def test_the_names_are_those_of_the_conventions() -> None:
    assert names.OPERATION == gen_ai.GEN_AI_OPERATION_NAME
    assert gen_ai.GenAiOperationNameValues.EXECUTE_TOOL.value == names.EXECUTE_TOOL
    assert names.TOOL_NAME == gen_ai.GEN_AI_TOOL_NAME
    assert names.TOOL_TYPE == gen_ai.GEN_AI_TOOL_TYPE
    assert names.TOOL_CALL_ID == gen_ai.GEN_AI_TOOL_CALL_ID
    assert names.TOOL_CALL_ARGUMENTS == gen_ai.GEN_AI_TOOL_CALL_ARGUMENTS
    assert names.TOOL_CALL_RESULT == gen_ai.GEN_AI_TOOL_CALL_RESULT
    assert names.HTTP_METHOD == http_attributes.HTTP_REQUEST_METHOD
    assert names.HTTP_RESENDS == http_attributes.HTTP_REQUEST_RESEND_COUNT
    assert names.SERVER_ADDRESS == server_attributes.SERVER_ADDRESS
    assert names.SERVER_PORT == server_attributes.SERVER_PORT
    assert names.ERROR_TYPE == error_attributes.ERROR_TYPE


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        (PARENT, PARENT),
        (f"  {PARENT} ", PARENT),
        (PARENT.replace("00-", "cc-", 1) + "-more", PARENT),
        (PARENT + "-more", None),
        (PARENT.replace("00-", "ff-", 1), None),
        (f"00-{'0' * 32}-b7ad6b7169203331-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (PARENT.upper(), None),
        ("", None),
        (None, None),
    ],
)
def test_trace_contexts_are_taken_as_the_specification_says(sent: str | None, taken: str | None) -> None:
    assert parsed_traceparent(sent) == taken
