"""The shop's own truth: its database and its log of requests, read from its files and from nobody's word."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from examples.shop.world import make_world
from tests.examples.shop.process import Shop, running_shop
from tests.scenarios.story import GONE

DELETE_TAKES_MS = 1500
"""How long the shop thinks before it deletes: a read that is sent together with a delete is answered before it."""

LOG = "requests.jsonl"
FIRST_DAY: Mapping[str, int] = {coupon.code: coupon.percent for coupon in make_world().coupons}
assert GONE in FIRST_DAY


@dataclass(frozen=True)
class Request:
    """One request of the log. ``came``, ``done``: numbers of its two lines; ``effect``: it changed the shop's data."""

    tool: str
    arguments: Mapping[str, object]
    commit_key: str | None
    intent_id: str | None
    came: int
    done: int
    status: int
    effect: bool

    def __str__(self) -> str:
        """The call, shortly."""
        return call_text(self.tool, self.arguments)


class Books:
    """A running shop's files."""

    def __init__(self, shop: Shop) -> None:
        """See the class."""
        self.origin = shop.origin
        self.log = shop.data / LOG
        self._shop = shop

    def coupons(self) -> dict[str, int]:
        """Every coupon that there is now, with its percentage."""
        store = f"file:{self._shop.data / 'shop.sqlite'}?mode=ro"
        with closing(sqlite3.connect(store, uri=True)) as connection:
            return dict(connection.execute("SELECT code, percent FROM coupons").fetchall())

    def requests(self) -> list[Request]:
        """Every request, in order of arrival; all of them have to be over."""
        lines = list(enumerate(self._shop.log(), 1))
        done = {line["n"]: (number, line) for number, line in lines if line["line"] == "handled"}
        return [
            Request(
                tool=line["tool"],
                arguments=json.loads(line["arguments"]),
                commit_key=line["commit_key"],
                intent_id=line["intent_id"],
                came=number,
                done=done[line["n"]][0],
                status=done[line["n"]][1]["status"],
                effect=done[line["n"]][1]["effect"],
            )
            for number, line in lines
            if line["line"] == "received"
        ]

    def effects(self) -> list[Request]:
        """The requests that changed something."""
        return [request for request in self.requests() if request.effect]


@contextmanager
def books(data: Path) -> Iterator[Books]:
    """A shop in a process of its own, on its first day."""
    with running_shop(data, "--latency", f"delete_coupon={DELETE_TAKES_MS}") as shop:
        yield Books(shop)


def call_text(tool: str, arguments: Mapping[str, object]) -> str:
    """A call, spelled for people and comparable: ``delete_coupon(code=WINTER81)``."""
    return f"{tool}({', '.join(f'{name}={value}' for name, value in sorted(arguments.items()))})"


def response_about(percent: int | None) -> str:
    """The final response of the message, composed from what the READ said: the coupon's percentage, None: it is gone."""
    return f"{GONE} is gone." if percent is None else f"{GONE} still gives {percent} %."
