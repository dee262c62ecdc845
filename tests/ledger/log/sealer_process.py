"""A sealer in a process of its own: ``sealer_process URL NAME MODE``. Says one line of JSON when it is ready.

``rounds``: round after round, for ever. ``stuck``: stops for ever in the middle of a round that found something,
with everything written and nothing committed.
"""

import json
import sys
import threading
import time

from ledger.connect import connect
from ledger.log import sealer as sealing
from ledger.log.sealer import Sealer


def say(word: str) -> None:
    print(json.dumps({"ready": word}), flush=True)


def main(url: str, name: str, mode: str) -> None:
    sealer = Sealer(connect(url), name=name, lease_seconds=0.0)
    if mode == "stuck":
        moved_edge = sealing.moved_edge

        def stop_here(*arguments: object) -> object:
            say("in the middle of a round")
            threading.Event().wait()
            return moved_edge(*arguments)  # type: ignore[arg-type]

        sealing.moved_edge = stop_here  # type: ignore[assignment]
        while True:
            sealer.round()
    say("sealing")
    while True:
        sealer.round()
        time.sleep(0.002)  # leaves the machine to the writers


if __name__ == "__main__":
    main(*sys.argv[1:])
