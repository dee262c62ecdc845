"""Kept streams through a real gateway, a real dispatcher and a real tool server: each call that the model made is one dispatch,
whatever ids it appears under."""

import json
from collections.abc import Callable, Iterator

import pytest

from gateway.client import Gate
from gateway.dispatcher.worker import Dispatcher
from gateway.hosted import AnthropicMessages, OpenAIChat, OpenAIResponses, ProviderFailed
from gateway.hosted.adapter import HostedStream
from gateway.upstream.http import HttpUpstream
from gateway.wiring import utc_now
from ledger.work import Work
from tests.gateway.dispatcher.floor import FAST
from tests.gateway.hosted.stage import Event, stream
from tests.gateway.http.front import Body, Front, Writer
from tests.gateway.http.front import front as running_front
from tests.gateway.toolserver import ToolServer, eventually
from tests.postgres import TestDatabase

READ, WRITE = '{"key": "order-7"}', '{"key": "order-7", "note": "café"}'
KEPT: dict[str, Callable[[], HostedStream]] = {
    "chat_parallel": OpenAIChat,
    "chat_fresh_ids": OpenAIChat,
    "chat_one_index": OpenAIChat,
    "chat_no_index": OpenAIChat,
    "responses_parallel": OpenAIResponses,
    "anthropic_parallel": AnthropicMessages,
    "anthropic_retried": AnthropicMessages,
}
XML = "<tool_call>\n<function={}>\n<parameter=key>\nk\n</parameter>\n</function>\n</tool_call>\n"
FORMATS = {
    "llama3": '{"name": "write", "parameters": {"key": "k"}}; {"name": "read", "parameters": {"key": "k"}}',
    "mistral": '[TOOL_CALLS][{"name": "write", "arguments": {"key": "k"}}, {"name": "read", "arguments": {"key": "k"}}]',
    "mistral ": '[TOOL_CALLS]write[ARGS]{"key": "k"}[TOOL_CALLS]read[ARGS]{"key": "k"}',
    "qwen3_coder": XML.format("write") + XML.format("read"),
}


@pytest.fixture(scope="module")
def tools() -> Iterator[ToolServer]:
    with ToolServer() as server:
        yield server


@pytest.fixture(scope="module")
def front(module_database: TestDatabase, tools: ToolServer) -> Iterator[Front]:
    """A gateway with a dispatcher that sends to ``tools``."""
    with running_front(module_database) as made:
        table: Body = {
            "tools": {
                "read": {
                    "effect": "READ_ONLY",
                    "reads": ["{key}"],
                    "upstream": {"http": f"{tools.url}/read"},
                },
                "write": {"effect": "WRITE", "writes": ["{key}"], "upstream": {"http": f"{tools.url}/write"}},
            }
        }
        assert made.client.post("/v1/effects", json=table).is_success
        tables = made.services.tables
        dispatcher = Dispatcher(made.ledger, Work(made.engine), tables, HttpUpstream(), FAST, utc_now)
        dispatcher.start()
        try:
            yield made
        finally:
            dispatcher.stop(grace=0)


def hosted(front: Front) -> Writer:
    return front.open(source="detected", binding={"kind": "hosted", "provider": "test"})


def spoken(writer: Writer, adapter: HostedStream, events: list[Event]) -> None:
    for event in events:
        written = adapter.feed(event)
        if written:
            writer.write(*written)


def sent(tools: ToolServer, writer: Writer, path: str) -> list[str]:
    """What the tools received under the stream's commit key."""
    return [r.body.decode() for r in tools.received(path) if r.headers["commit-key"] == writer.key]


def settled(writer: Writer) -> list[Body]:
    """The living intents in their order, once all are final."""

    def look() -> list[Body] | None:
        intents = [i for i in writer.show()["intents"] if i["block"] != "voided"]
        return intents if intents and all(i["final"] for i in intents) else None

    return sorted(eventually(look), key=lambda i: (i["span"], i["ordinal"]))


@pytest.mark.parametrize("name", KEPT)
def test_each_call_of_a_kept_stream_is_one_dispatch(front: Front, tools: ToolServer, name: str) -> None:
    writer, adapter = hosted(front), KEPT[name]()
    spoken(writer, adapter, stream(name))
    eventually(lambda: sent(tools, writer, "/read"))  # early: nothing is accepted yet
    assert sent(tools, writer, "/write") == []
    writer.write(*adapter.finish())
    read, write = settled(writer)
    assert (read["tool"], write["tool"]) == ("read", "write")
    assert (read["arguments"], write["arguments"]) == (json.loads(READ), json.loads(WRITE))
    assert sent(tools, writer, "/write") == [WRITE]
    # A rejected try may have paid for a read of its own.
    reads = sent(tools, writer, "/read")
    assert set(reads) == {READ}
    assert len(reads) <= (2 if name == "anthropic_retried" else 1)
    assert set(adapter.call_ids) == {read["span"][0], write["span"][0]}
    assert writer.show()["finished"] == "stop"


def test_four_appearances_of_a_call_are_one_dispatch(front: Front, tools: ToolServer) -> None:
    """ag-ui #968: whoever names the call again, under whatever id, attaches that id and sends nothing."""
    writer, adapter = hosted(front), OpenAIChat()
    spoken(writer, adapter, stream("chat_parallel"))
    writer.write(*adapter.finish())
    write = settled(writer)[1]
    for appearance in ("preview", "aggregate", "final", "executor"):
        body = {
            "span": write["span"],
            "tool": "write",
            "arguments": write["arguments"],
            "call_id": appearance,
        }
        answer = writer.post(body)
        assert (answer.status_code, answer.json()["intent_id"]) == (200, write["intent_id"])
        assert answer.json()["call_id"] == appearance
    assert sent(tools, writer, "/write") == [WRITE]


def test_a_stream_that_breaks_and_is_asked_again_sends_each_write_once(
    front: Front, tools: ToolServer
) -> None:
    """opencrabs #1100: the second try is another provider, with ids and deltas of its own."""
    writer, first = hosted(front), OpenAIChat()
    spoken(writer, first, stream("chat_fresh_ids")[:-1])
    writer.write(*first.finish())
    main = writer.show()["branches"]["main"]
    second = AnthropicMessages(head=main["head"], round=main["round"])
    spoken(writer, second, stream("anthropic_parallel"))
    writer.write(*second.finish())
    assert [intent["tool"] for intent in settled(writer)] == ["read", "write"]
    assert sent(tools, writer, "/write") == [WRITE]


def test_a_stream_given_up_sends_no_write(front: Front, tools: ToolServer) -> None:
    writer, adapter = hosted(front), OpenAIChat()
    spoken(writer, adapter, stream("chat_parallel"))
    writer.write(*adapter.give_up())
    shown = writer.show()
    assert (shown["finished"], shown["branches"]["main"]["text"]) == ("error", "")
    assert {intent["block"] for intent in shown["intents"]} == {"voided"}
    assert sent(tools, writer, "/write") == []


def test_a_turn_that_a_providers_error_leaves_ended_without_a_word(front: Front, tools: ToolServer) -> None:
    adapter, key = OpenAIChat(), "failed-by-provider"
    events = [*stream("chat_parallel")[:-1], {"error": {"type": "server_error", "message": "overloaded"}}]

    def speak() -> None:
        with Gate(front.url) as gate, gate.turn(key) as turn:
            for event in events:
                turn.write(adapter.feed(event))

    with pytest.raises(ProviderFailed, match="server_error: overloaded"):
        speak()
    shown = front.client.get(f"/v1/streams/{key}").json()
    assert (shown["finished"], shown["branches"]["main"]["text"]) == ("error", "")
    assert {intent["block"] for intent in shown["intents"]} == {"voided"}
    assert [r for r in tools.received("/write") if r.headers["commit-key"] == key] == []


@pytest.mark.parametrize("case", FORMATS)
def test_every_format_is_detected_dispatched_and_reconciled(
    front: Front, tools: ToolServer, case: str
) -> None:
    writer = front.open(tool_calls={"format": case.strip(), "from": "detected"})
    writer.draft(FORMATS[case])
    writer.rule(writer.show()["branches"]["main"]["drafted_end"])
    write, read = settled(writer)
    assert (write["tool"], read["tool"]) == ("write", "read")
    assert write["arguments"] == read["arguments"] == {"key": "k"}
    assert len(sent(tools, writer, "/write")) == len(sent(tools, writer, "/read")) == 1
    writer.finish("stop")
    query = "select finding from ledger.audited_sides where commit_key = %s and finding is not null"
    assert front.audit.execute(query, (writer.key,)).fetchall() == []


def test_posted_calls_of_an_array_are_told_apart_by_ordinal(front: Front) -> None:
    writer = front.open(tool_calls={"format": "mistral", "from": "posted"})
    text = "[TOOL_CALLS]" + json.dumps([{"name": "write", "arguments": {"key": key}} for key in "pq"])
    end = writer.draft(text)["branches"]["main"]["drafted_end"]
    for ordinal, key in enumerate("pq"):
        body = {"span": [0, end], "ordinal": ordinal, "round": 0, "tool": "write", "arguments": {"key": key}}
        assert writer.post(body).status_code == 202
    assert writer.post({**body, "ordinal": 2}).json()["code"] == "diverges_from_tokens"
