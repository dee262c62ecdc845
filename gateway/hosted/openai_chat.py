"""Chat Completions streams of OpenAI and of the many servers that imitate them (``chat.completion.chunk``)."""

import json

from gateway.hosted.adapter import End, HostedStream
from gateway.hosted.call import GatheredCall
from gateway.hosted.errors import UnreadableEvent
from gateway.hosted.lane import Finished
from gateway.hosted.reading import Json, as_object, index_of, object_of, objects_of, text_of

_ENDS = {
    "stop": End.STOP,
    "tool_calls": End.STOP,
    "function_call": End.STOP,
    "length": End.LENGTH,
    "content_filter": End.WITHHELD,
}


class OpenAIChat(HostedStream):
    """One message as Chat Completions stream it: feed every chunk's JSON but ``[DONE]``, then ``finish``.

    Of several choices the first is followed. These streams have no mark for the end of a call: one is drafted as soon as its
    arguments are one JSON object, and ruled out by the finished message if more of them followed. What fragments belong
    together follows from id, index and name, since servers reuse indexes for all calls, leave them out, or send another id
    with every fragment: a known id is its call's; a fragment with a name begins another call where the one at its index is
    whole, has another name, or cannot be meant; everything else goes on with the call at its index, or with the last one.
    """

    def _reset(self) -> None:
        super()._reset()
        self._by_id: dict[str, GatheredCall] = {}
        self._by_index: dict[int | None, GatheredCall] = {}
        self._index: dict[GatheredCall, int | None] = {}

    def _read(self, event: Json) -> None:
        if event.get("error") is not None:
            self._fail(event["error"])
        for choice in objects_of(event, "choices"):
            if index_of(choice, "index") in (0, None):
                self._read_choice(choice)

    def _read_choice(self, choice: Json) -> None:
        delta = object_of(choice, "delta")
        self._say(text_of(delta, "content"))
        self._say(text_of(delta, "refusal"))
        for fragment in objects_of(delta, "tool_calls"):
            self._take(index_of(fragment, "index"), text_of(fragment, "id"), _called(fragment))
        if delta.get("function_call") is not None:
            self._take(None, "", object_of(delta, "function_call"))
        reason = text_of(choice, "finish_reason")
        if reason:
            self._end = _ENDS.get(reason, End.UNKNOWN)

    def _take(self, index: int | None, call_id: str, called: Json) -> None:
        name, arguments = text_of(called, "name"), _arguments(called)
        call = self._call_at(index, call_id, name, arguments) or self._open(name, None)
        call.name = call.name or name
        call.call_id = call_id or call.call_id
        self._index.setdefault(call, index)
        self._by_index[index] = self._by_index[None] = call
        if call_id:
            self._by_id[call_id] = call
        call.add(arguments)

    def _call_at(self, index: int | None, call_id: str, name: str, arguments: str) -> GatheredCall | None:
        known = self._by_id.get(call_id) if call_id else None
        if known is not None and not (name and self._index[known] != index and index not in self._by_index):
            return known
        current = self._by_index.get(index)
        if current is None or (name and _begins_another(current, call_id, name, arguments)):
            return None
        return current

    def _is_due(self, call: GatheredCall) -> bool:
        call.ended = call.ended or call.is_whole
        return call.is_whole

    def _gathered(self) -> Finished:
        for call in self._calls:
            call.ended = True
        return super()._gathered()

    def _final(self, message: Json) -> Finished:
        """``message``: a ``chat.completion``, or the message of its first choice."""
        choices = objects_of(message, "choices")
        if choices:
            reason = text_of(choices[0], "finish_reason")
            self._end = _ENDS.get(reason, End.UNKNOWN) if reason else self._end
            message = object_of(choices[0], "message")
        calls: list[GatheredCall] = []
        for said in objects_of(message, "tool_calls"):
            called = _called(said)
            call = GatheredCall(text_of(called, "name"), text_of(said, "id") or None, ended=True)
            call.add(_arguments(called))
            calls.append(call)
        return self._finished(text_of(message, "content") + text_of(message, "refusal"), calls)


def _begins_another(current: GatheredCall, call_id: str, name: str, arguments: str) -> bool:
    """Whether a fragment with a name and an id that is not known begins another call than the one at its index."""
    if current.name and name != current.name:
        return True
    fresh = bool(call_id) and call_id != current.call_id
    if current.is_whole:
        return fresh or bool(arguments)
    if not fresh:
        return False
    # A server that sends another id with every fragment, or another call of the same tool?
    return not arguments if current.is_empty else not arguments or arguments.lstrip().startswith("{")


def _called(fragment: Json) -> Json:
    """Name and arguments; a custom tool's input is text, which no tool here takes."""
    if fragment.get("custom") is not None:
        custom = object_of(fragment, "custom")
        return {"name": custom.get("name"), "arguments": custom.get("input")}
    return object_of(fragment, "function")


def _arguments(called: Json) -> str:
    """Some servers send the arguments as an object instead of its text."""
    value = called.get("arguments")
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(as_object(value, "arguments"))
    except (TypeError, ValueError) as error:
        raise UnreadableEvent("arguments are no JSON") from error
