"""What NOTIFY costs: appends that each let a call go, from 32 clients at once, with and without it.

``python -m bench.notify [--rounds 5] [--seconds 2] [--out FILE.json]``: the two arms take turns on one server with fsync
on, while one session listens; the figure is the median of the rounds' ratios (with / without). Beside it the same for 32
sessions that each commit and notify for themselves, which is what a group writer spares the server (reference: x0.42).
"""

import argparse
import json
import statistics
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from sqlalchemy import Engine

from bench.machine import circumstances
from bench.server import bench_server
from ledger.append import Change, Ledger
from ledger.connect import connect
from ledger.events import EventType, NewEvent
from ledger.listen import Listener

CLIENTS = 32
PLACES = {"group writer": 1, "a session each": CLIENTS}
"""Group commits that may be under way at once, by arm."""

_keys = count()


def main() -> None:
    """Measure, print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    about = circumstances()
    with bench_server() as server:
        engine = connect(server.service_url, pool_size=CLIENTS)
        heard = count()
        with Listener(engine, lambda: next(heard)):
            figures = {
                name: _compared(engine, places, asked.rounds, asked.seconds)
                for name, places in PLACES.items()
            }
        engine.dispose()
    told = {"bench": "notify", "clients": CLIENTS, **about, "heard": next(heard), "arms": figures}
    text = json.dumps(told, indent=1)
    print(text)
    if asked.out is not None:
        asked.out.write_text(text + "\n", encoding="utf-8")


def _compared(engine: Engine, places: int, rounds: int, seconds: float) -> dict[str, object]:
    """Appends a second of both arms, and the ratio of each round."""
    arms = {
        notify: Ledger(engine, clock=lambda: datetime.now(UTC), notify=notify, places=places)
        for notify in (False, True)
    }
    _rate(arms[True], 0.5)
    rates: dict[bool, list[float]] = {False: [], True: []}
    for number in range(rounds):
        for notify in (False, True) if number % 2 else (True, False):
            rates[notify].append(_rate(arms[notify], seconds))
    ratios = [with_ / without for with_, without in zip(rates[True], rates[False], strict=True)]
    return {
        "without": round(statistics.median(rates[False])),
        "with": round(statistics.median(rates[True])),
        "ratio": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
    }


def _rate(ledger: Ledger, seconds: float) -> float:
    """Appends a second of all clients together."""
    done = [0] * CLIENTS
    began = time.perf_counter()
    threads = [
        threading.Thread(target=_client, args=(ledger, began + seconds, done, number))
        for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - began)


def _client(ledger: Ledger, until: float, done: list[int], number: int) -> None:
    while time.perf_counter() < until:
        ledger.append("bench", f"turn-{next(_keys)}", _RELEASES)
        done[number] += 1


def _releasing() -> Callable[[object], Change]:
    """A whole small turn in one append: opened, a block drafted and accepted, its call held and released."""
    call, main = "i1", "main"
    opened = {"writer_epoch": 1, "format": "hermes", "from": "posted", "binding": {"kind": "single"}}
    tokens = [{"text": f"t{place} ", "id": place} for place in range(8)]
    held = {
        "intent_id": call,
        "round": 0,
        "span": [0, 8],
        "ordinal": 0,
        "closed_seq": 2,
        "tool": "cancel_order",
    }
    held |= {"byte_start": 0, "byte_end": 24, "arguments_raw": "{}", "arguments_digest": "sha256:00"}
    held |= {
        "effect": "WRITE",
        "effect_version": 1,
        "footprint": {"reads": [], "writes": [], "upstream": None},
    }
    released = {"intent_id": call, "release": "committed", "effect": "WRITE", "effect_version": 1}
    ruled = {"round": 0, "start": 0, "end": 8, "accepted": 8}
    change = Change(
        (
            NewEvent(EventType.STREAM_OPENED, opened | {"branches_mode": "agree", "branches": [main]}),
            NewEvent(EventType.TOKENS_DRAFTED, {"round": 0, "start": 0, "tokens": tokens}, branch=main),
            NewEvent(EventType.TOKENS_RULED, ruled, branch=main, head_after=8),
            NewEvent(EventType.INTENT_HELD, held, branch=main, intent_id=call),
            NewEvent(EventType.INTENT_RELEASED, released, branch=main, intent_id=call),
        )
    )
    return lambda _state: change


_RELEASES = _releasing()

if __name__ == "__main__":
    main()
