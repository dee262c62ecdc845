"""Messages streams of Anthropic (``message_start`` to ``message_stop``)."""

import json

from gateway.hosted.adapter import End, HostedStream
from gateway.hosted.call import GatheredCall
from gateway.hosted.lane import Finished
from gateway.hosted.reading import Json, index_of, object_of, objects_of, text_of

_ENDS = {
    "end_turn": End.STOP,
    "tool_use": End.STOP,
    "stop_sequence": End.STOP,
    "pause_turn": End.STOP,
    "max_tokens": End.LENGTH,
    "model_context_window_exceeded": End.LENGTH,
    "refusal": End.WITHHELD,
}


class AnthropicMessages(HostedStream):
    """One message as the Messages API streams it: feed every event, then ``finish``.

    A ``tool_use`` block is drafted at its ``content_block_stop``, if its ``partial_json`` is one JSON object by then: with
    fine-grained streaming it may be invalid, or cut off. Without deltas the ``input`` that the block began with is what it
    asks for. Only ``message_stop`` behind a stop reason finishes a message. Thinking, and tools that the provider runs
    itself, are passed over.
    """

    def _reset(self) -> None:
        super()._reset()
        self._blocks: dict[int | None, GatheredCall | None] = {}
        self._inputs: dict[GatheredCall, str] = {}
        self._reason: End | None = None
        self._begun = False

    def _read(self, event: Json) -> None:
        type_ = text_of(event, "type")
        if type_ == "message_start":
            if self._begun:
                self._restart()
            self._begun = True
        elif type_ == "error":
            self._fail(event.get("error"))
        elif type_ == "content_block_start":
            self._start(index_of(event, "index"), object_of(event, "content_block"))
        elif type_ == "content_block_delta":
            self._delta(index_of(event, "index"), object_of(event, "delta"))
        elif type_ == "content_block_stop":
            self._stop(index_of(event, "index"))
        elif type_ == "message_delta":
            reason = text_of(object_of(event, "delta"), "stop_reason")
            self._reason = _ENDS.get(reason, End.UNKNOWN) if reason else self._reason
        elif type_ == "message_stop":
            self._end = self._reason

    def _start(self, index: int | None, block: Json) -> None:
        call: GatheredCall | None = None
        if block.get("type") == "text":
            self._say(text_of(block, "text"))
        elif block.get("type") == "tool_use":
            call = self._open(text_of(block, "name"), text_of(block, "id"))
            self._inputs[call] = json.dumps(dict(object_of(block, "input")))
        self._blocks[index] = self._blocks[None] = call

    def _delta(self, index: int | None, delta: Json) -> None:
        if delta.get("type") == "text_delta":
            self._say(text_of(delta, "text"))
        elif delta.get("type") == "input_json_delta":
            call = self._blocks.get(index)
            if call is not None:
                call.add(text_of(delta, "partial_json"))

    def _stop(self, index: int | None) -> None:
        call = self._blocks.get(index)
        if call is not None:
            if call.is_empty:
                call.add(self._inputs[call])
            call.ended = True

    def _final(self, message: Json) -> Finished:
        """``message``: a message with its ``content``; its ``stop_reason`` counts where it has one."""
        reason = text_of(message, "stop_reason")
        self._end = _ENDS.get(reason, End.UNKNOWN) if reason else self._end
        texts: list[str] = []
        calls: list[GatheredCall] = []
        content = objects_of(message, "content")
        for block in content:
            if block.get("type") == "text":
                texts.append(text_of(block, "text"))
            elif block.get("type") == "tool_use":
                calls.append(self._finished_call(len(calls), block, is_last=block is content[-1]))
        return self._finished("".join(texts), calls)

    def _finished_call(self, number: int, block: Json, *, is_last: bool) -> GatheredCall:
        """Readers of these streams complete half an ``input`` by themselves: one that was not whole in the stream is not
        whole here either."""
        ended = not (is_last and self._end is End.LENGTH)
        if number < len(self._calls):
            streamed = self._calls[number]
            ended = streamed.ended and streamed.is_whole
        call = GatheredCall(text_of(block, "name"), text_of(block, "id") or None, ended=ended, by_value=True)
        call.add(json.dumps(dict(object_of(block, "input"))))
        return call
