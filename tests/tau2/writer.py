"""Target, drafter and runtime in one: writes a message's tokens, drafted, ruled and redrafted, until all is decided."""

import asyncio
import json
import time
from collections import Counter
from random import Random
from typing import Any

from tests.tau2.client import AWAY, PATIENCE, PAUSE, Answer, Client, GatewayGone
from tests.tau2.script import Message, spoiled

LONGEST_WINDOW = 48
FAR_AHEAD = 240
"""Tokens that an eager drafter is ahead of the verifier."""

READS_GET = 1.5
"""Seconds that early reads get before the ruling comes; only how much is provoked hangs on them."""

_STOP: dict[str, Any] = {"type": "stream.finished", "reason": "stop"}


class Writer:
    """Writes one message. ``takeovers``: share of lost answers after which it opens the stream anew.

    The branch is followed here as interface.md tells it, and must be where the gateway says that it is.
    """

    def __init__(
        self, client: Client, message: Message, random: Random, counts: Counter[str], takeovers: float = 0.0
    ) -> None:
        self._client = client
        self._message = message
        self._random = random
        self._counts = counts
        self._takeovers = takeovers
        self._path = f"/v1/streams/{message.commit_key}"
        self._true = [token.text for token in message.tokens]
        self._wrong = random.choice([0.0, 0.02, 0.04])
        self._eager = random.random() < 0.6
        self._epoch, self._head, self._round, self._batch = 0, 0, 0, 0
        self._pending: list[str] = []
        self._early: set[str] = set()
        self._finished = False

    async def run(self) -> None:
        """Write it all, and end the stream."""
        await self._open()
        while not self._finished:
            behind = self._drafted_end < len(self._true)
            if self._head == len(self._true):
                await self._finish()
            elif not self._pending or (behind and self._random.random() < 0.4):
                await self._write(self._drafts())
                await self._let_reads_run()
            else:
                await self._write(self._rulings())

    @property
    def _drafted_end(self) -> int:
        return self._head + len(self._pending)

    async def _open(self) -> None:
        """Open the stream, or take it over: whatever is undecided is given up."""
        body = {
            "commit_key": self._message.commit_key,
            "tool_calls": {"format": "hermes", "from": "detected"},
            "parent": self._message.parent,
        }
        opened = await self._client.post("/v1/streams", body)
        main = opened["branches"]["main"]
        assert main["head"] == main["drafted_end"]
        self._epoch, self._head, self._round = opened["writer_epoch"], main["head"], main["round"]
        self._pending = []

    async def _finish(self) -> None:
        answer = await self._send([_STOP])
        if answer is not None:
            assert answer.status < 300 or answer.code == "stream_finished", answer
            self._finished = True

    async def _write(self, events: list[dict[str, Any]]) -> None:
        answer = await self._send(events)
        if answer is None:
            return
        assert answer.status < 300, f"{self._path}: {answer.body} to {events}"
        main = answer.body["branches"]["main"]
        here = {"head": self._head, "drafted_end": self._drafted_end, "round": self._round}
        assert main == here, f"{self._path}: {main}, and by interface.md {here}"
        self._remember(answer.body["intents"])
        self._finished = events[-1] is _STOP

    async def _send(self, events: list[dict[str, Any]]) -> Answer | None:
        """Write a batch; over a gateway that was away it is the same batch. None: the stream was taken over instead."""
        self._batch += 1
        body = {"writer_epoch": self._epoch, "batch_id": f"b{self._batch}", "events": events}
        raw = json.dumps(body).encode()
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                answer = await self._client.once("POST", self._path + "/events", raw)
            except GatewayGone:
                if time.monotonic() > deadline:
                    raise
                if self._random.random() < self._takeovers:
                    await self._take_over()
                    return None
                self._counts["sent again"] += 1
                await asyncio.sleep(AWAY)
                continue
            if answer.code == "stale_writer" and self._takeovers:
                # A takeover whose answer was lost came after the one that we know of.
                await self._take_over()
                return None
            self._counts["replayed"] += answer.status == 200
            return answer

    async def _take_over(self) -> None:
        await self._open()
        self._counts["taken over"] += 1

    def _drafts(self) -> list[dict[str, Any]]:
        """One window, or as many as an eager drafter writes before it looks up."""
        events: list[dict[str, Any]] = []
        until = self._head + FAR_AHEAD if self._eager else self._drafted_end + 1
        while self._drafted_end < min(until, len(self._true)):
            start = self._drafted_end
            window = self._message.tokens[start : start + self._random.randint(1, LONGEST_WINDOW)]
            texts = [
                spoiled(token.text, self._random)
                if token.spoilable and self._random.random() < self._wrong
                else token.text
                for token in window
            ]
            self._pending += texts
            tokens = [{"text": text, "drafter": "wild"} for text in texts]
            events.append({"type": "tokens.drafted", "round": self._round, "start": start, "tokens": tokens})
        return events

    def _rulings(self) -> list[dict[str, Any]]:
        """A few rulings, until one rejects."""
        events: list[dict[str, Any]] = []
        rounds = self._round
        for _ in range(self._random.randint(1, 4)):
            if self._pending and self._round == rounds:
                events.append(self._ruling())
        if self._head == len(self._true) and self._random.random() < 0.5:
            events.append(_STOP)
        return events

    def _ruling(self) -> dict[str, Any]:
        judged = self._random.randint(1, min(LONGEST_WINDOW, len(self._pending)))
        true = self._true[self._head : self._head + judged]
        accepted = next((n for n in range(judged) if self._pending[n] != true[n]), judged)
        event = {
            "type": "tokens.ruled",
            "round": self._round,
            "start": self._head,
            "end": self._head + judged,
            "accepted": accepted,
        }
        own = self._head + accepted < len(self._true) and self._random.random() < 0.7
        if own:
            event["token"] = {"text": self._true[self._head + accepted]}
        beyond = self._pending[judged:]
        if accepted < judged or (own and beyond and beyond[0] != self._true[self._head + judged]):
            self._round += 1
            self._pending = []
            self._counts["rejections"] += 1
        else:
            self._pending = beyond[1:] if own else beyond
        self._head += accepted + own
        return event

    def _remember(self, intents: list[dict[str, Any]]) -> None:
        for intent in intents:
            runs_ahead = intent["block"] == "undecided" and intent["state"] in ("released", "dispatched")
            (self._early.add if runs_ahead else self._early.discard)(intent["intent_id"])

    async def _let_reads_run(self) -> None:
        """Delay the ruling, now and then, until the early reads are answered."""
        if self._random.random() < 0.3:
            return
        deadline, pause = time.monotonic() + READS_GET, 2 * PAUSE
        while self._early and time.monotonic() < deadline:
            await asyncio.sleep(pause)
            pause *= 2
            self._remember((await self._client.get(self._path))["intents"])
