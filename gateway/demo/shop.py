"""The shop of the examples: a third party's tool server, run as a process of its own."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.demo.child import Child
from gateway.demo.errors import DemoNotPossible
from gateway.demo.source import environment, source_tree

if TYPE_CHECKING:
    from examples.shop.scenarios import Scenario

LATENCY_MS = {
    "*": 20,
    "set_address": 400,
    "cancel_order": 400,
    "exchange_item": 400,
    "refund_order": 400,
    "send_message": 400,
    "create_coupon": 400,
    "delete_coupon": 400,
}
"""How long the shop takes over a request. Writes are slow, as they are in the world: a read drafted behind one is
answered before it, and so has seen too little."""


@dataclass(frozen=True, slots=True)
class Shop:
    """The running shop. ``log``: what it was asked and did, in its own words."""

    origin: str
    log: Path


def shop_folder() -> Path:
    """Where the shop's source and models lie; the shop can be imported afterwards. Raises ``DemoNotPossible``."""
    root = source_tree()
    folder = root / "examples" / "shop"
    if not (folder / "server.py").is_file():
        raise DemoNotPossible(
            f"there is no shop in {folder}: the demonstration runs from a clone of the repository"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return folder


def start_shop(folder: Path) -> Child:
    """The shop's process, with its data and logs in ``folder``; see ``opened``."""
    shop_folder()
    slow = [word for tool, ms in LATENCY_MS.items() for word in ("--latency", f"{tool}={ms}")]
    argv = [
        sys.executable,
        "-m",
        "examples.shop.server",
        "--port",
        "0",
        "--data",
        str(folder / "shop"),
        *slow,
    ]
    return Child("shop", argv, folder=folder, cwd=source_tree(), env=environment())


def opened(child: Child, folder: Path, timeout: float) -> Shop:
    """The shop, once it takes requests."""
    return Shop(str(child.first_line(timeout)["origin"]), folder / "shop" / "requests.jsonl")


def effect_table(shop: Shop) -> str:
    """The effect table of the shop's tools, YAML, with the origin at which it listens."""
    from examples.shop.effect_table import effects_yaml

    return effects_yaml(shop.origin)


def requests(count: int) -> "Sequence[Scenario]":
    """What people will ask for, over the world that the shop begins with."""
    from examples.shop.scenarios import scenarios
    from examples.shop.world import make_world

    return scenarios(make_world(), count)


def tools() -> Sequence[Mapping[str, Any]]:
    """The shop's tools as function schemas, for prompts."""
    from examples.shop.signatures import as_functions

    return as_functions()
