"""The orchestrator of the incident: it dispatches what the drafts say, and reconciles what the verifier accepted.

Each half is right by itself. A call goes out as soon as its block's closing delimiter is drafted, beside its siblings; a
call seen again after a redraft is not sent twice. After the turn it looks up each call of the accepted message in its
dispatch log, and finds every one.
"""

import json
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Self, assert_never

import httpx2

from decoding.calls.block import Block
from tests.scenarios.books import Books, Request, call_text, response_about
from tests.scenarios.story import Drafted, Finished, Move, Ruled, blocks


@dataclass(frozen=True)
class Sent:
    """One entry of the dispatch log."""

    call: str
    answer: Future[httpx2.Response]


class Naive:
    """One turn of the naive orchestrator over a shop."""

    def __init__(self, books: Books, commit_key: str) -> None:
        """See the class."""
        self._books = books
        self._key = commit_key
        self._client = httpx2.Client(timeout=30)
        self._threads = ThreadPoolExecutor(8)
        self._accepted: list[str] = []
        self._drafts: list[str] = []
        self.dispatched: dict[str, Sent] = {}

    def __enter__(self) -> Self:
        """The orchestrator."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Wait for what was sent."""
        self._threads.shutdown()
        self._client.close()

    def apply(self, move: Move) -> None:
        """Go along with what drafter and verifier say."""
        match move:
            case Drafted():
                for token in move.tokens:
                    self._drafts.append(token)
                    self._dispatch_closed()
            case Ruled():
                judged = move.end - move.start
                self._accepted += self._drafts[: move.accepted]
                self._drafts = [] if move.accepted < judged else self._drafts[judged:]
                self._accepted += [] if move.own is None else [move.own]
            case Finished():
                for sent in self.dispatched.values():
                    sent.answer.result()
            case _:
                assert_never(move)

    def reconcile(self) -> list[str]:
        """What is amiss, by the key of the accepted stream: its calls that were never dispatched."""
        return [call for call in self._accepted_calls() if call not in self.dispatched]

    def union(self) -> list[str]:
        """What the other half of the union would have shown: dispatches that no accepted call asked for."""
        return [call for call in self.dispatched if call not in self._accepted_calls()]

    def seen(self) -> list[Request]:
        """The shop's requests that the reconciliation looked at: those of the accepted stream's calls."""
        return [request for request in self._books.requests() if str(request) in self._accepted_calls()]

    def response(self) -> str:
        """The final response, citing the answer that the read had."""
        answer = next(sent.answer.result() for call, sent in self.dispatched.items() if "get_coupon" in call)
        return response_about(answer.json()["percent"] if answer.status_code == 200 else None)

    def _accepted_calls(self) -> list[str]:
        return [call_text(*_call(block)) for block in blocks(self._accepted)]

    def _dispatch_closed(self) -> None:
        for block in blocks(self._accepted + self._drafts):
            tool, arguments = _call(block)
            call = call_text(tool, arguments)
            if call not in self.dispatched:
                self.dispatched[call] = Sent(call, self._threads.submit(self._send, tool, arguments))

    def _send(self, tool: str, arguments: Mapping[str, object]) -> httpx2.Response:
        url = f"{self._books.origin}/tools/{tool}"
        return self._client.post(url, json=arguments, headers={"Commit-Key": self._key})


def _call(block: Block) -> tuple[str, Mapping[str, object]]:
    (call,) = block.calls
    arguments: Mapping[str, object] = json.loads(call.arguments_raw or "{}")
    return str(call.tool), arguments
