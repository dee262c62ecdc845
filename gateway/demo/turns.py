"""Turns of an agent: a request, a message that makes calls, the tools' answers, a message that closes."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gateway.demo.api import Api, Json
from gateway.demo.errors import DemoFailed
from gateway.demo.follower import Follower
from gateway.demo.models import Models
from gateway.demo.show import Heading, MessageHeading, Show
from gateway.demo.summary import Tokens
from gateway.sinks.http import HttpSink

if TYPE_CHECKING:
    from decoding.drafters.base import Drafter
    from decoding.progress import LoopEvent
    from decoding.turn import TurnResult
    from examples.shop.scenarios import Scenario

WINDOWS = (32, 48, 24)
"""Drafts per ruling, another number whenever all drafters have had their turns. Long enough that whole calls are
drafted before anything is ruled on."""
CLOSING_WINDOW = 8
"""Drafts per ruling of a message that only closes a turn."""
VERIFY_SECONDS = 0.15
"""A pause before each ruling. The demonstration's target rules within a few milliseconds, a model of the size that
people use takes about this long; it is the time in which early reads run, and in which drafts can be seen."""
MAX_NEW_TOKENS = 256
RESTING = ("in_doubt", "voided", "refused", "denied")
TOOL_CALLS = {"format": "hermes", "from": "detected"}
PATIENCE = 60.0
"""Seconds in which every call of a message has to come to rest."""

Message = dict[str, str]


@dataclass(slots=True)
class Turns:
    """Runs turns over one gateway and counts. ``run``: begins every commit key."""

    api: Api
    models: Models
    tools: Sequence[Mapping[str, Any]]
    show: Show
    run: str
    messages: int = 0
    tokens: dict[str, Tokens] = field(default_factory=dict)
    intents: list[Json] = field(default_factory=list)

    def turn(self, number: int, of: int, scenario: "Scenario") -> None:
        """One whole turn. Raises ``DecodingError`` and ``DemoFailed``."""
        self.show.turn(Heading(number, of, scenario.kind, scenario.ask))
        lineup = _lineup(self.models.drafters)
        drafter = lineup[(number - 1) % len(lineup)]
        window = WINDOWS[(number - 1) // len(lineup) % len(WINDOWS)]
        said: list[Message] = [{"role": "user", "content": scenario.ask}]
        calling, answers = self._message(f"{self.run}-{number:02}", said, drafter, window, None)
        said += [{"role": "assistant", "content": calling.text}]
        said += [{"role": "tool", "content": answer} for answer in answers]
        if answers:
            parent = f"{self.run}-{number:02}"
            self._message(f"{parent}.end", said, lineup[0], CLOSING_WINDOW, parent)

    def _message(
        self, key: str, said: list[Message], drafter: "Drafter", window: int, parent: str | None
    ) -> "tuple[TurnResult, list[str]]":
        """Decode one message and wait for its calls: what was said, and what the tools answered, in order."""
        role = "calls" if parent is None else "answer"
        self.show.message(MessageHeading(key, role, drafter.name, window))
        with Follower(self.api.url, key, self.show.ledger, self.api.api_key):
            result = self._decode(key, said, drafter, window, parent)
            intents = self._rested(key)
        self.show.message_ended()
        self.messages += 1
        for name, counts in result.drafters.items():
            self.tokens.setdefault(name, Tokens()).add(counts)
        self.intents += intents
        return result, [_answer(intent) for intent in intents if intent["block"] == "cleared"]

    def _decode(
        self, key: str, said: list[Message], drafter: "Drafter", window: int, parent: str | None
    ) -> "TurnResult":
        from decoding.loop import run_turn
        from decoding.options import LoopOptions

        prompt = self.models.target.tokenizer.encode_prompt(said, self.tools)
        terms: dict[str, object] = {"tool_calls": TOOL_CALLS, "labels": {"demo": self.run}}
        if parent is not None:
            terms["parent"] = parent
        options = LoopOptions(window=window, max_new_tokens=MAX_NEW_TOKENS)
        with HttpSink(self.api.url, key, terms, patience=5.0, api_key=self.api.api_key) as sink:
            return run_turn(self.models.target, drafter, prompt, sink, options, self._observe)

    def _observe(self, event: "LoopEvent") -> None:
        from decoding.progress import Drafted

        self.show.loop(event)
        if isinstance(event, Drafted):
            time.sleep(VERIFY_SECONDS)

    def _rested(self, key: str) -> list[Json]:
        """The message's intents, each of them at rest. Raises ``DemoFailed`` where one is not in time."""
        deadline = time.monotonic() + PATIENCE
        intents: list[Json] = self.api.stream(key)["intents"]
        while waiting := [intent for intent in intents if not _rests(intent)]:
            if time.monotonic() > deadline:
                raise DemoFailed(
                    f"{waiting[0]['tool']} of {key} does not come to rest: {waiting[0]['state']}"
                )
            self.api.rested(key, waiting[0]["intent_id"])
            intents = self.api.stream(key)["intents"]
        return intents


def _lineup(drafters: "Sequence[Drafter]") -> "list[Drafter]":
    """Who drafts in one turn after the other: the first drafter between all others."""
    first, *others = drafters
    return [first, *(drafter for other in others for drafter in (other, first))]


def _rests(intent: Json) -> bool:
    return bool(intent["final"]) or intent["state"] in RESTING


def _answer(intent: Json) -> str:
    """What the model is told of a call: the tool's own answer, or why there is none."""
    result = intent.get("result")
    if result is not None and result["content"] is not None:
        return json.dumps(result["content"])
    return json.dumps({"error": intent["state"], "detail": intent["reason"] or "no answer"})
