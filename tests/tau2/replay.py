"""All tasks through a gateway, many at once, each one message after the other."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.tau2.client import PAUSE, Client
from tests.tau2.retail import Task
from tests.tau2.script import Message, messages_of
from tests.tau2.writer import Writer

AT_ONCE = 12
TERMINAL = 60.0
"""Seconds within which every call of a message is over once its last token is decided."""

View = dict[str, Any]


@dataclass
class Replayed:
    """``messages``: by task, each message with what the gateway showed of it in the end."""

    messages: dict[str, list[tuple[Message, View]]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def views(self) -> list[View]:
        return [view for told in self.messages.values() for _, view in told]


async def replay(client: Client, tasks: Sequence[Task], seed: int, *, takeovers: float = 0.0) -> Replayed:
    """Run every task; see Writer for ``takeovers``."""
    replayed = Replayed()
    room = asyncio.Semaphore(AT_ONCE)

    async def run(task: Task) -> None:
        random = Random(f"{seed}/{task.name}")
        async with room:
            told = replayed.messages[task.name] = []
            for message in messages_of(task, seed, random):
                await Writer(client, message, random, replayed.counts, takeovers).run()
                told.append((message, await _over(client, message)))

    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(run(task))
    return replayed


async def _over(client: Client, message: Message) -> View:
    """The stream, as soon as all its intents are terminal."""
    path = f"/v1/streams/{message.commit_key}"
    deadline = time.monotonic() + TERMINAL
    while True:
        view = await client.get(path)
        waiting = [intent for intent in view["intents"] if not terminal(intent)]
        if not waiting:
            return view
        assert time.monotonic() < deadline, f"{path}: not over within {TERMINAL} s: {waiting}"
        await asyncio.sleep(PAUSE)
        if waiting[-1]["state"] != "in_doubt":
            await client.get(f"{path}/intents/{waiting[-1]['intent_id']}?wait=1")


def terminal(intent: View) -> bool:
    """A call is terminal when it is final, voided, refused or denied."""
    return bool(intent["final"]) or intent["state"] in ("voided", "refused", "denied")
