"""What the examples need, each a process of its own: the shop's tool server, and a gateway over an embedded Postgres."""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from effects.table import EffectTable
from examples.fakemodel.server import Message, serving
from examples.shop.effect_table import effects_yaml
from examples.shop.signatures import as_functions
from examples.shop.world import make_world
from gateway.client import Gate
from gateway.demo.child import Child
from gateway.demo.served import COMMAND, url_of
from gateway.demo.source import environment, source_tree

PATIENCE = 60.0
"""Seconds within which everything has started."""


@dataclass(frozen=True, slots=True)
class Stage:
    """``gateway``, ``model``: base URLs. ``order_id``: an order that can be cancelled. ``tools``: for the model."""

    gateway: str
    model: str
    order_id: str
    tools: list[dict[str, Any]]
    log: Path

    def show(self, *commit_keys: str) -> None:
        """Print what the shop says that it was asked and did, and what the ledger says of the calls."""
        _say("the shop's log:")
        for line in map(json.loads, self.log.read_text(encoding="utf-8").splitlines()):
            if line["line"] == "handled":
                _say(
                    f"  {line['tool']}: {line['status']}, {'changed' if line['effect'] else 'changed nothing'}"
                )
        _say("the ledger:")
        with Gate(self.gateway) as gate:
            for commit_key in commit_keys:
                for intent in gate.stream(commit_key).intents:
                    status = intent.result.status.value if intent.result else intent.state.value
                    _say(
                        f"  {commit_key}: {intent.effect.value} {intent.tool}, release {intent.release},"
                        f" {status}, final {intent.final}"
                    )


@contextmanager
def stage() -> Iterator[Stage]:
    """Start everything; nothing is left of it afterwards."""
    order = next(order for order in make_world().orders if order.status == "pending")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="commitgate-example-")))
        data = folder / "shop"
        selling = ("-m", "examples.shop.server", "--port", "0", "--data", str(data))
        shop = stack.enter_context(_child("shop", folder, *selling))
        served = stack.enter_context(_child("gateway", folder, "-c", COMMAND, "serve", "--port", "0"))
        origin = str(shop.first_line(PATIENCE)["origin"])
        gateway = url_of(served, PATIENCE)
        with Gate(gateway) as gate:
            gate.apply_effects(table(origin))
        model = stack.enter_context(serving(script(order.order_id, order.product_id)))
        yield Stage(gateway, model, order.order_id, list(as_functions()), data / "requests.jsonl")


def table(origin: str) -> dict[str, Any]:
    """The shop's effect table as a document."""
    return dict(EffectTable.parse(effects_yaml(origin)).document())


def script(order_id: str, product_id: str) -> list[Message]:
    """What the model says: it looks at an order and its product, cancels it, and tells the customer."""
    looks = (("get_order", {"order_id": order_id}), ("get_product", {"product_id": product_id}))
    return [
        Message("Let me look at your order. ", looks),
        Message("I cancel it. ", (("cancel_order", {"order_id": order_id, "reason": "ordered by mistake"}),)),
        Message(f"Your order {order_id} is cancelled."),
    ]


def _child(name: str, folder: Path, *arguments: str) -> Child:
    settings = environment(COMMITGATE_HOME=str(folder / "home"))
    argv = [sys.executable, *arguments]
    return Child(name, argv, folder=folder, cwd=source_tree(), env=settings)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
