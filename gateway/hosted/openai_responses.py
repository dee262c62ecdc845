"""Responses streams of OpenAI (``response.*`` events)."""

from collections.abc import Mapping

from gateway.hosted.adapter import End, HostedStream
from gateway.hosted.call import GatheredCall
from gateway.hosted.lane import Finished
from gateway.hosted.reading import Json, index_of, object_of, objects_of, text_of

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Items that ask for a tool of the caller's, and what their arguments are called. A custom tool's input is text, not JSON."""

_TEXTS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_FRAGMENTS = frozenset({"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"})
_WHOLE = {
    "response.function_call_arguments.done": "arguments",
    "response.custom_tool_call_input.done": "input",
}
_FAILURES = frozenset({"error", "response.failed", "response.cancelled"})
_INCOMPLETE = {"max_output_tokens": End.LENGTH, "content_filter": End.WITHHELD}


class OpenAIResponses(HostedStream):
    """One message as the Responses API streams it: feed every event, then ``finish``.

    A call is drafted when its item is done. ``...arguments.done`` is not taken for its end: it is sent for an interrupted
    response too. The response that ``response.completed`` or ``response.incomplete`` carries is the finished message; what
    was gathered is, where it carries no ``output``. Items that the provider itself ran, and reasoning, are passed over.
    """

    def _reset(self) -> None:
        super()._reset()
        self._by_item: dict[str, GatheredCall] = {}
        self._by_index: dict[int, GatheredCall] = {}
        self._response: Json | None = None
        self._begun = False

    def _read(self, event: Json) -> None:
        type_ = text_of(event, "type")
        if type_ == "response.created":
            if self._begun:
                self._restart()
            self._begun = True
        elif type_ in _FAILURES:
            self._fail(_said_of_failure(event, type_))
        elif type_ in _TEXTS:
            self._say(text_of(event, "delta"))
        elif type_ in _FRAGMENTS:
            self._call_of(event).add(text_of(event, "delta"))
        elif type_ in _WHOLE:
            self._call_of(event).replace(text_of(event, _WHOLE[type_]))
        elif type_ in ("response.output_item.added", "response.output_item.done"):
            self._read_item(event, done=type_.endswith("done"))
        elif type_ in ("response.completed", "response.incomplete"):
            self._read_end(object_of(event, "response"), type_.rpartition(".")[2])

    def _read_item(self, event: Json, *, done: bool) -> None:
        item = object_of(event, "item")
        arguments = _CALLS.get(text_of(item, "type"))
        if arguments is None:
            return
        call = self._call_of(
            {**event, "item_id": item.get("id")}, begins=None if done else text_of(item, "name")
        )
        call.name = text_of(item, "name") or call.name
        call.call_id = text_of(item, "call_id") or call.call_id
        said = text_of(item, arguments)
        if said:
            call.replace(said)
        call.ended = call.ended or (done and text_of(item, "status") in ("", "completed"))

    def _call_of(self, event: Json, begins: str | None = None) -> GatheredCall:
        """The call of an item's id, of its index, else the last one. ``begins``: the event begins an item of that name."""
        item, index = text_of(event, "item_id"), index_of(event, "output_index")
        call = self._by_item.get(item) if item else None
        if call is None and index is not None:
            call = self._by_index.get(index)
        if call is None and index is None and begins is None and self._calls:
            call = self._calls[-1]
        if call is not None and begins is not None and _is_another(call, begins):
            call = None
        if call is None:
            call = self._open("", None)
        if item:
            self._by_item[item] = call
        if index is not None:
            self._by_index[index] = call
        return call

    def _read_end(self, response: Json, word: str) -> None:
        self._response = response
        status = text_of(response, "status") or word
        if status == "completed" and word == "completed":
            self._end = End.STOP
        else:
            reason = text_of(object_of(response, "incomplete_details"), "reason")
            self._end = _INCOMPLETE.get(reason, End.UNKNOWN)

    def _gathered(self) -> Finished:
        if self._response is not None and self._response.get("output") is not None:
            return self._of_response(self._response)
        return super()._gathered()

    def _final(self, message: Json) -> Finished:
        """``message``: a response."""
        self._read_end(message, text_of(message, "status") or "completed")
        return self._of_response(message)

    def _of_response(self, response: Json) -> Finished:
        texts: list[str] = []
        calls: list[GatheredCall] = []
        for item in objects_of(response, "output"):
            type_ = text_of(item, "type")
            if type_ == "message":
                for part in objects_of(item, "content"):
                    texts.append(text_of(part, "text") + text_of(part, "refusal"))
            elif type_ in _CALLS:
                calls.append(_finished_call(item, _CALLS[type_]))
        return self._finished("".join(texts), calls)


def _said_of_failure(event: Json, type_: str) -> object:
    if type_ == "error":
        return event
    response = event.get("response")
    said = response.get("error") if isinstance(response, Mapping) else None
    return {"type": type_} if said is None else said


def _is_another(call: GatheredCall, begins: str) -> bool:
    """Whether an item that begins is not the one under way at its place, whose fragments may have come first."""
    return call.ended or (bool(call.name) and (call.name != begins or not call.is_empty))


def _finished_call(item: Json, arguments: str) -> GatheredCall:
    ended = text_of(item, "status") in ("", "completed")
    call = GatheredCall(text_of(item, "name"), text_of(item, "call_id") or None, ended=ended)
    call.add(text_of(item, arguments))
    return call
