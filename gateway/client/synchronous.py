"""The client."""

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from types import TracebackType
from typing import Self, TypeVar

import httpx2
from tenacity import Retrying

from gateway.client.asking import Ask, Flow, Heard, ask
from gateway.client.connection import PATIENCE, Connection, heard, request_of
from gateway.client.flow import Terms, Token, TurnFlow, answer_of, ending_of
from gateway.client.seen import SeenTurn
from gateway.wire.base import JSONObject
from gateway.wire.views import IntentView, StreamView

T = TypeVar("T")


class Gate:
    """A gateway at ``url``. ``key``: an API key; None where it runs open. ``patience``: seconds for which a request is
    tried again while nobody answers. A context manager; ``close`` lets the connections go.
    """

    def __init__(self, url: str, key: str | None = None, *, patience: float = PATIENCE) -> None:
        self._connection = Connection(url, key, patience)
        self._http = httpx2.Client(**self._connection.arguments())

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Let the connections go."""
        self._http.close()

    def turn(
        self,
        commit_key: str | None = None,
        *,
        format: str = "hermes",  # noqa: A002 - the interface's own word
        source: str = "detected",
        binding: str = "hosted",
        parent: str | None = None,
        fork_of: str | None = None,
        labels: Mapping[str, object] | None = None,
    ) -> "Turn":
        """One model message, to be entered; see ``Turn``. Without a commit key one is made (``turn.commit_key``)."""
        terms = Terms(format, source, binding, parent, fork_of, labels)
        return Turn(self, TurnFlow(commit_key, terms))

    def stream(self, commit_key: str) -> StreamView:
        """A stream as it stands. Raises ``GatewayRefused`` (``unknown_commit_key``)."""
        return StreamView.model_validate(self.run(ask(Ask("GET", f"/v1/streams/{commit_key}"))))

    def apply_effects(self, table: Mapping[str, object]) -> JSONObject:
        """Put an effect table in force (role ``operator``)."""
        return self.run(ask(Ask("POST", "/v1/effects", table)))

    def run(self, flow: Flow[T]) -> T:
        """Ask everything that ``flow`` asks; its result."""
        try:
            question = next(flow)
            while True:
                question = flow.send(self._ask(question))
        except StopIteration as ended:
            result: T = ended.value
            return result

    def _ask(self, question: Ask) -> Heard:
        answer: Heard = Retrying(**self._connection.retrying())(self._once, question)
        return answer

    def _once(self, question: Ask) -> Heard:
        return heard(self._http.request(question.method, question.path, **request_of(question)))


class Turn(SeenTurn):
    """One model message under one commit key. Entering it opens the stream, or takes it over where it exists: what was
    accepted (``text``, ``head``) and every call with its answer (``intents``) are there again, and an older writer is
    fenced. Leaving it ends the stream: ``stop``; ``error`` where an exception leaves it, ``cancelled`` where it is called off.
    """

    def __init__(self, gate: Gate, flow: TurnFlow) -> None:
        super().__init__(flow)
        self._gate = gate
        # Threads may call at once; each call has its place among them before the next is made.
        self._making = Lock()

    def __enter__(self) -> Self:
        """Open the stream."""
        self._gate.run(self._flow.open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the stream. Where an exception is on its way, what goes wrong here does not hide it."""
        try:
            self.finish(ending_of(kind))
        except Exception:
            # Whatever it is: what left the turn is the cause, and the stream can be ended by taking it over.
            if kind is None:
                raise

    def call(self, tool: str, arguments: Mapping[str, object], *, timeout: float = 60.0) -> object:
        """Make the next call of this turn and give the tool's answer, waiting for at most ``timeout`` seconds.

        The n-th call of a turn that was taken over is answered from the ledger if it is the one recorded there. Raises
        ``Diverged`` if it is another, and a ``CallEnded`` that says what became of it where there is no answer.
        """
        with self._making:
            intent_id = self._gate.run(self._flow.make(tool, arguments))
        return answer_of(self.wait(intent_id, timeout=timeout))

    def draft(self, tokens: Iterable[Token]) -> list[IntentView]:
        """Draft tokens behind the drafted end; the calls that this changed."""
        return self._gate.run(self._flow.draft(tokens))

    def rule(self, accepted: int, *, end: int | None = None, token: Token | None = None) -> list[IntentView]:
        """Rule on the drafts up to ``end`` (None: all): the first ``accepted`` stay; ``token`` is the target's own."""
        return self._gate.run(self._flow.rule(accepted, end=end, token=token))

    def accept(self, tokens: Iterable[Token]) -> list[IntentView]:
        """Write accepted tokens, while no drafts are pending; the calls that this changed."""
        return self._gate.run(self._flow.accept(tokens))

    def write(self, events: Sequence[Mapping[str, object]]) -> list[IntentView]:
        """Write token events as they are, all or none; the calls that this changed."""
        return self._gate.run(self._flow.write(events))

    def post(
        self,
        tool: str,
        arguments: Mapping[str, object],
        span: tuple[int, int],
        *,
        ordinal: int = 0,
        call_id: str | None = None,
    ) -> IntentView:
        """Post the call that the tokens of ``span`` spell (``source="posted"``)."""
        posted = self._flow.post(tool, arguments, span, ordinal=ordinal, call_id=call_id)
        return self._gate.run(posted)

    def wait(self, intent_id: str, *, timeout: float = 60.0) -> IntentView:
        """The call once it is over or in doubt, or as it stands after ``timeout`` seconds. ``answer_of`` opens it."""
        return self._gate.run(self._flow.wait(intent_id, timeout=timeout))

    def look(self) -> StreamView:
        """The stream as it stands now."""
        return self._gate.run(self._flow.look())

    def finish(self, reason: str = "stop") -> None:
        """End the stream (``stop``, ``length``, ``error``, ``cancelled``); nothing if it was ended here before."""
        self._gate.run(self._flow.finish(reason))
