"""The client for asyncio."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

import httpx2
from tenacity import AsyncRetrying

from gateway.client.asking import Ask, Flow, Heard, ask
from gateway.client.connection import PATIENCE, Connection, heard, request_of
from gateway.client.flow import Terms, Token, TurnFlow, answer_of, ending_of
from gateway.client.seen import SeenTurn
from gateway.wire.base import JSONObject
from gateway.wire.views import IntentView, StreamView

T = TypeVar("T")


class AsyncGate:
    """A gateway at ``url``. ``key``: an API key; None where it runs open. ``patience``: seconds for which a request is
    tried again while nobody answers. A context manager; ``aclose`` lets the connections go.
    """

    def __init__(self, url: str, key: str | None = None, *, patience: float = PATIENCE) -> None:
        self._connection = Connection(url, key, patience)
        self._http = httpx2.AsyncClient(**self._connection.arguments())

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        await self.aclose()

    async def aclose(self) -> None:
        """Let the connections go."""
        await self._http.aclose()

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
    ) -> "AsyncTurn":
        """One model message, to be entered; see ``AsyncTurn``. Without a commit key one is made (``turn.commit_key``)."""
        terms = Terms(format, source, binding, parent, fork_of, labels)
        return AsyncTurn(self, TurnFlow(commit_key, terms))

    async def stream(self, commit_key: str) -> StreamView:
        """A stream as it stands. Raises ``GatewayRefused`` (``unknown_commit_key``)."""
        return StreamView.model_validate(await self.run(ask(Ask("GET", f"/v1/streams/{commit_key}"))))

    async def apply_effects(self, table: Mapping[str, object]) -> JSONObject:
        """Put an effect table in force (role ``operator``)."""
        return await self.run(ask(Ask("POST", "/v1/effects", table)))

    async def run(self, flow: Flow[T]) -> T:
        """Ask everything that ``flow`` asks; its result."""
        try:
            question = next(flow)
            while True:
                question = flow.send(await self._ask(question))
        except StopIteration as ended:
            result: T = ended.value
            return result

    async def _ask(self, question: Ask) -> Heard:
        answer: Heard = await AsyncRetrying(**self._connection.retrying())(self._once, question)
        return answer

    async def _once(self, question: Ask) -> Heard:
        return heard(await self._http.request(question.method, question.path, **request_of(question)))


class AsyncTurn(SeenTurn):
    """One model message under one commit key. Entering it opens the stream, or takes it over where it exists: what was
    accepted (``text``, ``head``) and every call with its answer (``intents``) are there again, and an older writer is
    fenced. Leaving it ends the stream: ``stop``; ``error`` where an exception leaves it, ``cancelled`` where it is called off.
    """

    def __init__(self, gate: AsyncGate, flow: TurnFlow) -> None:
        super().__init__(flow)
        self._gate = gate
        # Calls may be awaited together; each has its place among them before the next is made.
        self._making = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Open the stream."""
        await self._gate.run(self._flow.open())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the stream. Where an exception is on its way, what goes wrong here does not hide it."""
        try:
            await self.finish(ending_of(kind))
        except Exception:
            # Whatever it is: what left the turn is the cause, and the stream can be ended by taking it over.
            if kind is None:
                raise

    async def call(self, tool: str, arguments: Mapping[str, object], *, timeout: float = 60.0) -> object:
        """Make the next call of this turn and give the tool's answer, waiting for at most ``timeout`` seconds.

        The n-th call of a turn that was taken over is answered from the ledger if it is the one recorded there. Raises
        ``Diverged`` if it is another, and a ``CallEnded`` that says what became of it where there is no answer.
        """
        async with self._making:
            intent_id = await self._gate.run(self._flow.make(tool, arguments))
        return answer_of(await self.wait(intent_id, timeout=timeout))

    async def draft(self, tokens: Iterable[Token]) -> list[IntentView]:
        """Draft tokens behind the drafted end; the calls that this changed."""
        return await self._gate.run(self._flow.draft(tokens))

    async def rule(
        self, accepted: int, *, end: int | None = None, token: Token | None = None
    ) -> list[IntentView]:
        """Rule on the drafts up to ``end`` (None: all): the first ``accepted`` stay; ``token`` is the target's own."""
        return await self._gate.run(self._flow.rule(accepted, end=end, token=token))

    async def accept(self, tokens: Iterable[Token]) -> list[IntentView]:
        """Write accepted tokens, while no drafts are pending; the calls that this changed."""
        return await self._gate.run(self._flow.accept(tokens))

    async def write(self, events: Sequence[Mapping[str, object]]) -> list[IntentView]:
        """Write token events as they are, all or none; the calls that this changed."""
        return await self._gate.run(self._flow.write(events))

    async def post(
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
        return await self._gate.run(posted)

    async def wait(self, intent_id: str, *, timeout: float = 60.0) -> IntentView:
        """The call once it is over or in doubt, or as it stands after ``timeout`` seconds. ``answer_of`` opens it."""
        return await self._gate.run(self._flow.wait(intent_id, timeout=timeout))

    async def look(self) -> StreamView:
        """The stream as it stands now."""
        return await self._gate.run(self._flow.look())

    async def finish(self, reason: str = "stop") -> None:
        """End the stream (``stop``, ``length``, ``error``, ``cancelled``); nothing if it was ended here before."""
        await self._gate.run(self._flow.finish(reason))
