"""The MCP front, as the official client of the SDK sees it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp_types import CallToolResult, TextContent

from tests.gateway.desk import Desk
from tests.gateway.toolserver import ok, reset, status

KEY = "commitgate/commit_key"
CALL = "commitgate/call_id"


def talk(desk: Desk, say: Callable[[Client], Awaitable[Any]], mode: str = "auto") -> Any:
    async def run() -> Any:
        async with Client(desk.url, mode=mode) as client:  # type: ignore[arg-type]
            return await say(client)

    return asyncio.run(run())


def call(desk: Desk, tool: str, arguments: dict[str, Any], mode: str = "auto", **meta: Any) -> CallToolResult:
    named = {name.replace("__", "/"): value for name, value in meta.items()}
    return talk(desk, lambda client: client.call_tool(tool, arguments, meta=named or None), mode)  # type: ignore[arg-type]


def text(result: CallToolResult) -> str:
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


def events(desk: Desk, key: str) -> list[str]:
    answer = desk.front.client.get(f"/v1/streams/{key}/events")
    return [event["type"] for event in answer.json()["events"]]


@pytest.fixture(autouse=True)
def table(desk: Desk) -> None:
    desk.apply(
        look={"effect": "READ_ONLY", "reads": ["thing:{name}"]},
        change={"effect": "WRITE", "writes": ["thing:{name}"], "timeout": "500ms"},
        wide={"effect": "READ_ONLY", "open_world": True},
    )


def test_every_tool_is_listed_with_hints_that_follow_from_its_class(desk):
    listed = talk(desk, lambda client: client.list_tools()).tools
    hints = {tool.name: tool.annotations for tool in listed}
    assert list(hints) == ["change", "look", "wide"]
    assert hints["look"].read_only_hint
    assert hints["wide"].open_world_hint
    assert hints["change"].destructive_hint
    assert not hints["change"].read_only_hint


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_call_is_an_accepted_block_with_its_whole_story(desk, mode):
    desk.tools.behave("/look", ok({"colour": "red"}))
    key = f"message-{mode}"
    result = call(desk, "look", {"name": "a"}, mode, commitgate__commit_key=key, commitgate__call_id="c1")
    assert not result.is_error
    assert result.structured_content == {"colour": "red"}
    assert json.loads(text(result)) == {"colour": "red"}
    assert result.meta[KEY] == key
    assert events(desk, key) == [
        "stream.opened",
        "tokens.accepted",
        "intent.held",
        "block.cleared",
        "intent.call_id",
        "intent.released",
        "dispatch.started",
        "dispatch.settled",
        "intent.final",
    ]


def test_a_retry_with_the_same_call_id_is_answered_from_the_ledger(desk):
    desk.tools.behave("/change", ok({"done": 1}))
    before = len(desk.tools.received("/change"))
    meta = {"commitgate__commit_key": "retried", "commitgate__call_id": "c1"}
    first = call(desk, "change", {"name": "a"}, **meta)
    again = call(desk, "change", {"name": "a"}, **meta)
    assert first.structured_content == again.structured_content == {"done": 1}
    assert (first.meta["commitgate/replayed"], again.meta["commitgate/replayed"]) == (False, True)
    assert len(desk.tools.received("/change")) == before + 1


def test_the_same_call_id_with_other_arguments_is_refused(desk):
    meta = {"commitgate__commit_key": "changed", "commitgate__call_id": "c1"}
    call(desk, "look", {"name": "a"}, **meta)
    other = call(desk, "look", {"name": "b"}, **meta)
    assert other.is_error
    assert other.structured_content["code"] == "exists_with_different_arguments"
    assert (
        call(desk, "change", {"name": "a"}, **meta).structured_content["code"] == "exists_with_different_tool"
    )


def test_without_a_call_id_each_call_is_a_new_one(desk):
    before = len(desk.tools.received("/look"))
    keys = {call(desk, "look", {"name": "a"}).meta[KEY] for _ in range(2)}
    assert len(keys) == 2
    assert len(desk.tools.received("/look")) == before + 2
    assert all("stream.finished" in events(desk, key) for key in keys)


def test_a_retry_that_names_no_message_is_not_sent_twice(desk):
    desk.tools.behave("/change", ok({"done": 1}))
    before = len(desk.tools.received("/change"))
    first, again = (call(desk, "change", {"name": "a"}, commitgate__call_id="alone") for _ in range(2))
    assert first.structured_content == again.structured_content == {"done": 1}
    assert first.meta[KEY] == again.meta[KEY]
    assert len(desk.tools.received("/change")) == before + 1
    other = call(desk, "change", {"name": "b"}, commitgate__call_id="alone")
    assert other.structured_content["code"] == "exists_with_different_arguments"


def test_a_call_in_doubt_says_so(desk):
    desk.tools.behave("/change", reset)
    result = call(desk, "change", {"name": "a"}, commitgate__commit_key="doubtful")
    assert result.is_error
    assert result.structured_content["state"] == "in_doubt"
    doubts = desk.front.client.get("/v1/doubts").json()["doubts"]
    assert result.structured_content["intent_id"] in [doubt["intent_id"] for doubt in doubts]


def test_the_tools_own_refusal_is_an_error_of_the_tool(desk):
    desk.tools.behave("/change", status(404, b'{"error": "no such thing"}'))
    result = call(desk, "change", {"name": "a"})
    assert result.is_error
    assert result.structured_content == {"error": "no such thing"}


def test_an_unknown_tool_is_refused_and_recorded(desk):
    result = call(desk, "nothing", {}, commitgate__commit_key="unknown")
    assert result.is_error
    assert (result.structured_content["state"], result.structured_content["reason"]) == (
        "refused",
        "unknown_tool",
    )
    assert "intent.refused" in events(desk, "unknown")


def test_twenty_clients_with_one_call_id_make_one_effect(desk):
    desk.tools.behave("/change", ok({"done": 1}))
    before = len(desk.tools.received("/change"))

    async def run() -> list[CallToolResult]:
        async def one() -> CallToolResult:
            async with Client(desk.url) as client:
                return await client.call_tool("change", {"name": "z"}, meta={KEY: "crowd", CALL: "c"})  # type: ignore[arg-type]

        return await asyncio.gather(*(one() for _ in range(20)))

    results = asyncio.run(run())
    assert [r.structured_content for r in results] == [{"done": 1}] * 20
    assert sum(not r.meta["commitgate/replayed"] for r in results) == 1
    assert len(desk.tools.received("/change")) == before + 1


def test_a_stream_that_a_decoder_writes_takes_no_finished_calls(desk):
    desk.front.open("decoded", source="detected")
    result = call(desk, "look", {"name": "a"}, commitgate__commit_key="decoded")
    assert result.structured_content["code"] == "stream_of_another_writer"


@pytest.mark.parametrize("key", ["", "-x", "a b", "x" * 129, 7])
def test_a_bad_commit_key_is_refused(desk, key):
    assert (
        call(desk, "look", {"name": "a"}, commitgate__commit_key=key).structured_content["code"]
        == "invalid_request"
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (b'{"name": "a", "name": "b"}', "json_duplicate_name"),
        (b'{"n": 9007199254740993}', "json_number"),
        (b'{"n": NaN}', "json_syntax"),
        (b'{"n": "\\ud800"}', "invalid_text"),
    ],
)
def test_what_strict_json_refuses_never_becomes_a_call(desk, arguments, code):
    body = (
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look", "arguments": '
        + arguments
        + b"}}"
    )
    before = desk.front.rows()
    answer = httpx2.post(
        desk.url,
        content=body,
        headers={"Content-Type": "application/json", "Accept": "application/json, text/event-stream"},
    )
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["data"]["code"].startswith(code.split("_")[0])
    assert desk.front.rows() == before


def test_pages_of_other_origins_are_kept_out(desk):
    answer = httpx2.post(desk.url, json={}, headers={"Origin": "https://evil.example"})
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_origin")


def test_a_call_that_waits_for_a_person_says_so_and_is_answered_once_allowed(desk):
    desk.apply(guarded={"effect": "WRITE", "writes": ["thing:{name}"], "approval": "required"})
    desk.tools.behave("/guarded", ok({"done": 1}))
    meta = {"commitgate__commit_key": "guarded", "commitgate__call_id": "c1"}
    waiting = call(desk, "guarded", {"name": "a"}, **meta)
    assert waiting.is_error
    assert waiting.structured_content["state"] == "awaiting_approval"
    path = f"/v1/approvals/guarded/{waiting.structured_content['intent_id']}"
    allowed = desk.front.client.post(path, json={"decision": "approve", "reason": "fine"})
    assert allowed.is_success, allowed.text
    assert call(desk, "guarded", {"name": "a"}, **meta).structured_content == {"done": 1}
    assert len(desk.tools.received("/guarded")) == 1


def test_the_schema_of_the_table_is_what_clients_see_and_what_the_gate_checks(desk):
    schema = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
    desk.apply(strict={"effect": "READ_ONLY", "reads": [], "schema": schema})
    (tool,) = talk(desk, lambda client: client.list_tools()).tools
    assert tool.input_schema == schema
    refused = call(desk, "strict", {"name": 7})
    assert (refused.structured_content["state"], refused.structured_content["reason"]) == (
        "refused",
        "arguments_refused",
    )


def test_a_block_that_another_writer_left_open_is_a_refusal_and_no_failure(desk):
    call(desk, "look", {"name": "a"}, commitgate__commit_key="meddled")
    desk.front.open("meddled", source="detected").accept("<tool_call>")
    result = call(desk, "look", {"name": "b"}, commitgate__commit_key="meddled")
    assert result.structured_content["code"] == "stream_of_another_writer"


def test_a_model_is_told_which_argument_was_refused(desk):
    schema = {"type": "object", "properties": {"amount": {"type": "integer", "minimum": 1}}}
    desk.apply(refund={"effect": "WRITE", "writes": [], "schema": schema})
    refused = call(desk, "refund", {"amount": -1})
    assert refused.structured_content["detail"]["path"] == "amount"
    assert "amount" in text(refused)


def test_the_id_of_a_finished_call_is_not_replaced_by_a_runtime(desk):
    desk.tools.behave("/change", ok({"done": 1}))
    before = len(desk.tools.received("/change"))
    meta = {"commitgate__commit_key": "mixed", "commitgate__call_id": "c1"}
    call(desk, "change", {"name": "m"}, **meta)
    body = {"span": [0, 1], "tool": "change", "arguments": {"name": "m"}, "call_id": "other"}
    posted = desk.front.client.post("/v1/streams/mixed/intents", json=body)
    assert posted.json()["call_id"] == "c1"
    assert call(desk, "change", {"name": "m"}, **meta).meta["commitgate/replayed"]
    assert len(desk.tools.received("/change")) == before + 1
