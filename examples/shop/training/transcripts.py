"""Conversations to learn from: a request, the calls that answer it, the shop's own answers, a closing line.

The answers come from the shop's real tools, run on a world in memory in a transaction that is rolled back.
"""

import json
import random
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from examples.shop.refusal import RefusalError
from examples.shop.scenarios import Call, Pick, Scenario, draw
from examples.shop.store import open_store
from examples.shop.tools import run_tool
from examples.shop.world import make_world

WORLD_SERVES = 64
"""How many transcripts share a world before the next one is made."""
REFUSED = 0.1
"""Share of transcripts in which the orders have moved on, so that the shop refuses to change them."""

Message = dict[str, str]


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation: what was asked for, and its turns in the chat template's form."""

    scenario: Scenario
    messages: tuple[Message, ...]

    def until_calls(self) -> tuple[Message, ...]:
        """The turns up to and with the message that makes the calls."""
        return self.messages[:2]


def transcripts(seed: int) -> Iterator[Transcript]:
    """Conversations without end, over one world after another."""
    r = random.Random(f"shop transcripts {seed}")
    while True:
        world = make_world(r.getrandbits(40))
        store = open_store(None, world)
        for _ in range(WORLD_SERVES):
            yield converse(draw(Pick(world, r)), store, moved_on=r.random() < REFUSED)
        store.close()


def converse(scenario: Scenario, store: sqlite3.Connection, moved_on: bool = False) -> Transcript:
    """The conversation about ``scenario``; the store is left as it was."""
    store.execute("BEGIN")
    if moved_on:
        store.execute("UPDATE orders SET status = 'shipped'")
    answers = [_answer(store, call) for call in scenario.calls]
    store.execute("ROLLBACK")
    closing = " ".join(
        closing_line(call, answer) for call, answer in zip(scenario.calls, answers, strict=True)
    )
    return Transcript(
        scenario,
        (
            {"role": "user", "content": scenario.ask},
            {"role": "assistant", "content": scenario.message()},
            *({"role": "tool", "content": json.dumps(answer)} for answer in answers),
            {"role": "assistant", "content": closing},
        ),
    )


def _answer(store: sqlite3.Connection, call: Call) -> dict[str, object]:
    try:
        return run_tool(store, call.name, dict(call.arguments))
    except RefusalError as refusal:
        return {"error": refusal.code, "detail": refusal.detail}


CLOSING = {
    "get_order": "Order {order_id} is {status}.",
    "get_product": "{product_id} costs {price}, {stock} left.",
    "get_customer": "{customer_id} got {messages} messages.",
    "find_customer": "{name} is {customer_id} in {city}.",
    "get_coupon": "{code} gives {percent} percent.",
    "set_address": "{order_id} goes to {address}.",
    "cancel_order": "{order_id} is cancelled.",
    "exchange_item": "{order_id} now holds {product_id}.",
    "refund_order": "{refunded} is refunded on {order_id}.",
    "send_message": "Message {message_id} is sent.",
    "create_coupon": "{code} is there.",
    "delete_coupon": "{code} is gone.",
}


def closing_line(call: Call, answer: dict[str, object]) -> str:
    """What the agent says about one answer."""
    if "error" in answer:
        return f"The shop refused: {answer['detail']}."
    return CLOSING[call.name].format(**answer)
