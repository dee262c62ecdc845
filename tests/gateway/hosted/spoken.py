"""Events as the providers document them, for tests that make streams of their own."""

from typing import Any

Event = dict[str, Any]


def chat(content: str | None = None, *fragments: Event, finish: str | None = None, **delta: object) -> Event:
    """One ``chat.completion.chunk``."""
    body: Event = {**delta} if content is None else {"content": content, **delta}
    if fragments:
        body["tool_calls"] = list(fragments)
    choice = {"index": 0, "delta": body, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [choice]}


def part(
    arguments: str | None = None,
    *,
    index: int | None = 0,
    name: str | None = None,
    id: str | None = None,  # noqa: A002 - the provider's word
) -> Event:
    """One fragment of a call; what is None is left out."""
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    body = {"index": index, "id": id, "function": function}
    return {key: value for key, value in body.items() if value is not None}


def started(index: int, name: str, id: str = "toolu_1") -> Event:  # noqa: A002 - the provider's word
    block: Event = {"type": "tool_use", "id": id, "name": name, "input": {}}
    return {"type": "content_block_start", "index": index, "content_block": block}


def json_delta(index: int, partial: str) -> Event:
    delta = {"type": "input_json_delta", "partial_json": partial}
    return {"type": "content_block_delta", "index": index, "delta": delta}


def text_delta(index: int, text: str) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}


def stopped(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def message_start(id: str = "msg_1") -> Event:  # noqa: A002 - the provider's word
    return {
        "type": "message_start",
        "message": {"id": id, "type": "message", "role": "assistant", "content": []},
    }


def message_end(reason: str | None = "tool_use") -> list[Event]:
    return [{"type": "message_delta", "delta": {"stop_reason": reason}}, {"type": "message_stop"}]


def item(type_: str, index: int, **members: object) -> Event:
    return {"type": type_, "output_index": index, "item": {"type": "function_call", **members}}


def created(id: str = "resp_1") -> Event:  # noqa: A002 - the provider's word
    return {"type": "response.created", "response": {"id": id, "status": "in_progress", "output": []}}


def output_text(delta: str) -> Event:
    return {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "delta": delta}


def arguments_delta(index: int | None, item_id: str | None, delta: str) -> Event:
    body = {"output_index": index, "item_id": item_id, "delta": delta}
    type_ = "response.function_call_arguments.delta"
    return {"type": type_, **{key: value for key, value in body.items() if value is not None}}


def completed(*output: Event, status: str = "completed", reason: str | None = None) -> Event:
    response: Event = {"id": "resp_1", "status": status, "output": list(output)}
    if reason is not None:
        response["incomplete_details"] = {"reason": reason}
    return {"type": f"response.{status}", "response": response}


def said(text: str) -> Event:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def called(name: str, arguments: str, call_id: str = "call_1", status: str = "completed") -> Event:
    return {
        "type": "function_call",
        "id": "fc_9",
        "name": name,
        "arguments": arguments,
        "call_id": call_id,
        "status": status,
    }
