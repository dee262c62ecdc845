"""A runtime that drives streams over HTTP and insists: what was not answered is asked again, as it was."""

import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.crash.judge import Asked
from tests.gateway.dispatcher.floor import spelled

PATIENCE = 60.0
NOT_YET, OVER = 0.02, 500


@dataclass(frozen=True)
class Turn:
    """One stream: its calls, and whether the verifier takes their drafts; ``asked`` is what it accepts in the end."""

    commit_key: str
    calls: tuple[Asked, ...]
    rejected: bool = False

    @property
    def asked(self) -> tuple[Asked, ...]:
        return () if self.rejected else self.calls

    @property
    def tokens(self) -> list[dict[str, str]]:
        calls = [spelled(c.tool, {"key": c.key, "nth": c.nth}) for c in self.calls]
        return [{"text": text} for text in ("So: ", *calls)]


class Runtime:
    """Writers over the gateway at ``url``, which may be away for a while."""

    def __init__(self, url: str, writers: int = 3) -> None:
        self._client = httpx2.Client(base_url=url, timeout=20, trust_env=False)
        self._threads = ThreadPoolExecutor(writers)
        self._epochs: dict[str, int] = {}

    def close(self) -> None:
        self._threads.shutdown()
        self._client.close()

    def draft(self, turns: Sequence[Turn]) -> None:
        """Open the streams and draft their calls."""
        list(self._threads.map(self._draft, turns))

    def rule(self, turns: Sequence[Turn]) -> threading.Thread:
        """Rule on the drafts and end the streams, in the background."""
        thread = threading.Thread(target=lambda: list(self._threads.map(self._rule, turns)), daemon=True)
        thread.start()
        return thread

    def drive(self, turn: Turn) -> None:
        """Write a whole stream, in this thread."""
        self._draft(turn)
        self._rule(turn)

    def resolve(self, commit_key: str, intent_id: str, *, happened: bool) -> None:
        """Settle a doubt; it may have been settled by a request whose answer was lost."""
        body = {"as": "happened" if happened else "not_happened", "reason": "as the tool's log says"}
        self.insist(f"/v1/doubts/{commit_key}/{intent_id}", body, also=(409,))

    def _draft(self, turn: Turn) -> None:
        opening = {"commit_key": turn.commit_key, "tool_calls": {"format": "hermes", "from": "detected"}}
        epoch = self.insist("/v1/streams", opening)["writer_epoch"]
        self._epochs[turn.commit_key] = epoch
        drafted = {"type": "tokens.drafted", "round": 0, "start": 0, "tokens": turn.tokens}
        self._write(turn, "draft", drafted)

    def _rule(self, turn: Turn) -> None:
        end = len(turn.tokens)
        ruled: dict[str, Any] = {"type": "tokens.ruled", "round": 0, "start": 0, "end": end, "accepted": end}
        if turn.rejected:
            ruled |= {"accepted": 1, "token": {"text": "no."}}
        self._write(turn, "rule", ruled, {"type": "stream.finished", "reason": "stop"})

    def _write(self, turn: Turn, batch: str, *events: dict[str, Any]) -> None:
        body = {"writer_epoch": self._epochs[turn.commit_key], "batch_id": batch, "events": events}
        self.insist(f"/v1/streams/{turn.commit_key}/events", body)

    def insist(self, path: str, body: dict[str, Any], also: tuple[int, ...] = ()) -> dict[str, Any]:
        raw, deadline = json.dumps(body).encode(), time.monotonic() + PATIENCE
        while True:
            answer = None
            with suppress(httpx2.TransportError):
                answer = self._client.post(path, content=raw, headers={"Content-Type": "application/json"})
            if answer is not None and answer.status_code < OVER:
                assert answer.status_code < 300 or answer.status_code in also, f"{path}: {answer.text}"
                found: dict[str, Any] = answer.json()
                return found
            assert time.monotonic() < deadline, f"{path}: no answer for {PATIENCE} s"
            time.sleep(NOT_YET)
