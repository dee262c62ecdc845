"""What the adapters of all providers share: a message is gathered, drafted, and ruled on by its finished form."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import NoReturn

from gateway.hosted.call import GatheredCall
from gateway.hosted.errors import MessageOver, UnreadableEvent
from gateway.hosted.lane import Finished, Lane, TokenEvent
from gateway.hosted.reading import Json, failure_of


class End(Enum):
    """What a provider says about the end of a message. It is never evidence that a call is whole."""

    STOP = "stop"
    LENGTH = "length"
    WITHHELD = "a filter or a refusal ended it; nothing of it counts"
    UNKNOWN = "a word that is not known; it is taken for a break"


class HostedStream(ABC):
    """One message of a hosted model on one stream.

    ``feed`` takes the provider's decoded events, ``finish`` is called when they are over, ``broken`` when the connection
    failed or is tried again; each gives the token events to write, in order, as one batch. ``head`` and ``round`` are where
    the stream stands when it is opened.

    Text is drafted as it comes, a call when it is whole and every call that began before it is drafted. Nothing is accepted
    before ``finish``.
    """

    def __init__(self, *, head: int = 0, round: int = 0, branch: str = "main") -> None:  # noqa: A002 - the interface's word
        """A message that begins at ``head`` in ``round``."""
        self._lane = Lane(branch, head, round)
        self._over = False
        self._reset()

    @property
    def complete(self) -> bool:
        """Whether the provider has said that the message is finished, in words that are known."""
        return self._end in (End.STOP, End.LENGTH, End.WITHHELD)

    @property
    def call_ids(self) -> Mapping[int, str]:
        """The id under which the provider wants each call's result: its latest, by the first position of the call's block."""
        return self._lane.call_ids

    def feed(self, event: Json) -> list[TokenEvent]:
        """Take one event of the stream.

        One that begins a message anew while another is under way is a retry. Raises ``ProviderFailed``, with the
        provider's words, for an event that says that the stream failed, and ``UnreadableEvent`` for what no provider
        sends: call ``broken`` then and feed another try, or ``give_up``; a turn of the client that the error leaves
        ends as ``error`` by itself. Raises ``MessageOver`` behind the end.
        """
        self._check_open()
        if not isinstance(event, Mapping):
            raise UnreadableEvent("an event is no object")
        self._read(event)
        self._draft_whole_calls()
        return self._lane.drain()

    def finish(self, message: Json | None = None) -> list[TokenEvent]:
        """The stream is over. The finished message - ``message`` where the caller has it in the provider's form, else what
        was gathered - rules on all drafts, and the token stream ends.

        Where the provider has not said that the message is finished, this is ``broken``, and another try may follow. A
        message that a filter or a refusal ended is rejected as a whole and ends the stream as ``error``.
        """
        self._check_open()
        final = self._gathered() if message is None else self._final(message)
        if not self.complete:
            return self.broken()
        if self._end is End.WITHHELD:
            return self.give_up("error")
        self._lane.settle(final)
        return self._ended("length" if self._end is End.LENGTH else "stop")

    def broken(self) -> list[TokenEvent]:
        """The stream failed or is tried again: what was drafted is rejected. The next event begins the message anew."""
        self._check_open()
        self._restart()
        return self._lane.drain()

    def give_up(self, reason: str = "error") -> list[TokenEvent]:
        """No further try: what was drafted is rejected and the token stream ends, ``error`` or ``cancelled``."""
        self._check_open()
        self._lane.reject()
        return self._ended(reason)

    @abstractmethod
    def _read(self, event: Json) -> None:
        """Take the event into what is gathered."""

    @abstractmethod
    def _final(self, message: Json) -> Finished:
        """A finished message in the provider's form; sets ``_end`` where it says how it ended."""

    def _reset(self) -> None:
        """Forget what was gathered."""
        self._calls: list[GatheredCall] = []
        self._drafted = 0
        self._end: End | None = None

    def _fail(self, said: object) -> NoReturn:
        """An event says that the stream failed: nothing of it counts, whoever goes on."""
        self._restart()
        raise failure_of(said)

    def _restart(self) -> None:
        self._lane.reject()
        self._reset()

    def _say(self, delta: str) -> None:
        if delta:
            self._lane.say(delta)

    def _open(self, name: str, call_id: str | None) -> GatheredCall:
        call = GatheredCall(name, call_id or None)
        self._calls.append(call)
        return call

    def _is_due(self, call: GatheredCall) -> bool:
        """Whether a call may be drafted."""
        return call.ended and call.is_whole

    def _draft_whole_calls(self) -> None:
        while self._drafted < len(self._calls) and self._is_due(self._calls[self._drafted]):
            self._lane.call(self._calls[self._drafted])
            self._drafted += 1

    def _gathered(self) -> Finished:
        return self._finished(self._lane.said, self._calls)

    def _finished(self, text: str, calls: list[GatheredCall]) -> Finished:
        last = calls[-1] if calls else None
        cut = last is not None and not (last.ended and (last.is_whole or self._end is not End.LENGTH))
        return Finished(text, calls, cut)

    def _ended(self, reason: str) -> list[TokenEvent]:
        self._over = True
        self._lane.end(reason)
        return self._lane.drain()

    def _check_open(self) -> None:
        if self._over:
            raise MessageOver("the message is finished")
