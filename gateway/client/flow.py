"""A turn as flows: opening it, writing its tokens, making calls, waiting for them, ending it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from decoding.calls.hermes import spelled
from effects.canonical import digest
from effects.intent import BlockState, IntentState, ResultStatus
from gateway.client.asking import Ask, Flow, ask
from gateway.client.errors import (
    AnswerTooLarge,
    AnswerUnknown,
    CallDenied,
    CallDidNotHappen,
    CallInDoubt,
    CallNotFinal,
    CallRefused,
    CallVoided,
    ClientError,
    Diverged,
    ToolFailed,
    ToolUnavailable,
    TurnNotEntered,
)
from gateway.wire.views import EventsWritten, IntentView, StreamOpened, StreamView

LONG_POLL = 25.0
"""Seconds that one request waits for a call."""

Token = str | Mapping[str, object]
"""A token: its text, or ``{"text", "id"?, "drafter"?}``."""

_ENDED = {
    IntentState.IN_DOUBT: CallInDoubt,
    IntentState.REFUSED: CallRefused,
    IntentState.DENIED: CallDenied,
    IntentState.VOIDED: CallVoided,
}
_FAILED = {
    ResultStatus.TOOL_ERROR: ToolFailed,
    ResultStatus.UNAVAILABLE: ToolUnavailable,
    ResultStatus.NOT_HAPPENED: CallDidNotHappen,
    ResultStatus.HAPPENED_UNKNOWN_RESULT: AnswerUnknown,
}


@dataclass(frozen=True, slots=True)
class Terms:
    """What a stream is opened with; see ``POST /v1/streams``."""

    format: str = "hermes"
    source: str = "detected"
    binding: str = "hosted"
    parent: str | None = None
    fork_of: str | None = None
    labels: Mapping[str, object] | None = None

    def body(self, commit_key: str) -> dict[str, object]:
        """The request body."""
        given = {"parent": self.parent, "fork_of": self.fork_of, "labels": self.labels}
        return {
            "commit_key": commit_key,
            "tool_calls": {"format": self.format, "from": self.source},
            "binding": {"kind": self.binding},
            **{name: value for name, value in given.items() if value is not None},
        }


class TurnFlow:
    """Where one turn stands, and the flows that move it. ``intents``: the calls as they were seen last, by id."""

    def __init__(self, commit_key: str | None, terms: Terms, branch: str = "main") -> None:
        # Made here, not by the gateway: an opening whose answer is lost is repeated under the same key.
        self.commit_key = commit_key or str(uuid4())
        self.branch = branch
        self.intents: dict[str, IntentView] = {}
        self.finished: str | None = None
        self.text = ""
        self.head = self.drafted_end = self.round = 0
        self._terms = terms
        self._epoch = 0  # Until it is opened.
        self._calls_made = 0

    @property
    def path(self) -> str:
        """The stream's path. Raises ``TurnNotEntered`` while it is not opened here."""
        if not self._epoch:
            raise TurnNotEntered
        return f"/v1/streams/{self.commit_key}"

    def open(self) -> Flow[None]:
        """Open the stream, or take it over and learn where it stands."""
        body = yield from ask(Ask("POST", "/v1/streams", self._terms.body(self.commit_key)))
        self._epoch = StreamOpened.model_validate(body).writer_epoch
        yield from self.look()

    def look(self) -> Flow[StreamView]:
        """The stream as it stands now."""
        view = StreamView.model_validate((yield from ask(Ask("GET", self.path))))
        branch = view.branches[self.branch]
        self.head, self.drafted_end, self.round = branch.head, branch.drafted_end, branch.round
        self.text, self.finished = branch.text, view.finished
        self.intents = {intent.intent_id: intent for intent in view.intents}
        return view

    def write(self, events: Sequence[Mapping[str, object]]) -> Flow[list[IntentView]]:
        """Write token events, all or none: the calls that they changed. Repeated safely where the answer is lost."""
        if not events:
            return []
        batch = {"writer_epoch": self._epoch, "batch_id": uuid4().hex, "events": [dict(e) for e in events]}
        written = EventsWritten.model_validate((yield from ask(Ask("POST", f"{self.path}/events", batch))))
        branch = written.branches[self.branch]
        self.head, self.drafted_end, self.round = branch.head, branch.drafted_end, branch.round
        for intent in written.intents:
            self.intents[intent.intent_id] = intent
        for event in events:
            if event.get("type") == "stream.finished":
                self.finished = str(event.get("reason"))
        return written.intents

    def draft(self, tokens: Iterable[Token]) -> Flow[list[IntentView]]:
        """Draft tokens behind the drafted end."""
        body = {"round": self.round, "start": self.drafted_end, "tokens": [_token(t) for t in tokens]}
        return self.write([{"type": "tokens.drafted", "branch": self.branch, **body}])

    def rule(self, accepted: int, *, end: int | None, token: Token | None) -> Flow[list[IntentView]]:
        """Rule on the drafts up to ``end`` (None: all): the first ``accepted`` of them stay."""
        body: dict[str, object] = {
            "round": self.round,
            "start": self.head,
            "end": self.drafted_end if end is None else end,
            "accepted": accepted,
        }
        if token is not None:
            body["token"] = _token(token)
        return self.write([{"type": "tokens.ruled", "branch": self.branch, **body}])

    def accept(self, tokens: Iterable[Token]) -> Flow[list[IntentView]]:
        """Write tokens that are accepted already."""
        body = {"round": self.round, "tokens": [_token(t) for t in tokens]}
        return self.write([{"type": "tokens.accepted", "branch": self.branch, **body}])

    def finish(self, reason: str) -> Flow[None]:
        """End the stream, once."""
        if self.finished is None:
            yield from self.write([{"type": "stream.finished", "reason": reason}])

    def post(
        self,
        tool: str,
        arguments: Mapping[str, object],
        span: tuple[int, int],
        *,
        ordinal: int,
        call_id: str | None,
    ) -> Flow[IntentView]:
        """Post the call that the tokens of ``span`` spell (streams opened with ``source="posted"``)."""
        body: dict[str, object] = {
            "branch": self.branch,
            "span": list(span),
            "ordinal": ordinal,
            "tool": tool,
            "arguments": dict(arguments),
        }
        if span[1] > self.head:
            body["round"] = self.round
        if call_id is not None:
            body["call_id"] = call_id
        intent = IntentView.model_validate((yield from ask(Ask("POST", f"{self.path}/intents", body))))
        self.intents[intent.intent_id] = intent
        return intent

    def make(self, tool: str, arguments: Mapping[str, object]) -> Flow[str]:
        """Make the next call, or find it: the intent's id. One at a time: the n-th call is the n-th in the ledger.

        Raises ``Diverged`` where the ledger has another call in its place.
        """
        if self._terms.source != "detected":
            raise ClientError("calls are made in a stream whose calls are detected; post them in this one")
        place = self._calls_made
        recorded = [i for i in self._in_order() if i.block is not BlockState.VOIDED]
        if place < len(recorded):
            intent = recorded[place]
            _check_same(intent, tool, arguments)
        else:
            yield from self.accept([_spelled(tool, arguments)])
            intent = [i for i in self._in_order() if i.block is not BlockState.VOIDED][place]
        self._calls_made += 1
        return intent.intent_id

    def wait(self, intent_id: str, *, timeout: float) -> Flow[IntentView]:
        """The call once it is final, refused, denied, voided or in doubt, or as it stands after ``timeout`` seconds."""
        left = timeout
        while True:
            share = min(LONG_POLL, max(left, 0.0))
            asked = Ask("GET", f"{self.path}/intents/{intent_id}", query={"wait": share}, patience=share)
            intent = IntentView.model_validate((yield from ask(asked)))
            self.intents[intent_id] = intent
            left -= share
            if left <= 0 or intent.final or intent.state in _ENDED:
                return intent

    def _in_order(self) -> list[IntentView]:
        mine = [i for i in self.intents.values() if i.branch == self.branch]
        return sorted(mine, key=lambda i: (i.span[0], i.ordinal, i.round))


def ending_of(error: type[BaseException] | None) -> str:
    """How a turn ends that ``error`` leaves (None: nothing went wrong)."""
    if error is None:
        return "stop"
    return "error" if issubclass(error, Exception) else "cancelled"


def answer_of(intent: IntentView) -> object:
    """The tool's answer in a call that is over. Raises ``CallEnded`` where there is none."""
    ended = _ENDED.get(intent.state)
    if ended is not None:
        raise ended(intent)
    if not intent.final or intent.result is None:
        raise CallNotFinal(intent)
    if intent.result.status is ResultStatus.OK:
        content = intent.result.content
        if isinstance(content, dict) and content.get("because") == AnswerTooLarge.code:
            raise AnswerTooLarge(intent)
        return content
    raise _FAILED[intent.result.status](intent)


def _spelled(tool: str, arguments: Mapping[str, object]) -> str:
    try:
        return spelled(tool, arguments)
    except (TypeError, ValueError) as error:
        raise ClientError(f"the arguments of {tool} are not JSON: {error}") from error


def _check_same(recorded: IntentView, tool: str, arguments: Mapping[str, object]) -> None:
    if recorded.tool != tool:
        raise Diverged("tool", recorded)
    if recorded.arguments_digest != digest(dict(arguments)):
        raise Diverged("arguments", recorded)


def _token(token: Token) -> dict[str, object]:
    return {"text": token} if isinstance(token, str) else dict(token)
