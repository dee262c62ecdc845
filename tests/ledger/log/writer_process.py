"""A writer in a process of its own: ``writer_process URL NUMBER KEYS EVENTS``: appends to shared and own streams."""

import json
import sys
from datetime import UTC, datetime

from ledger.append import Change, Ledger
from ledger.connect import connect
from ledger.state import StreamState
from tests.ledger.story import drafted, opened


def main(url: str, number: str, keys: str, times: str) -> None:
    ledger = Ledger(connect(url), clock=lambda: datetime.now(UTC))

    def decide(state: StreamState) -> Change:
        if state.seq == 0:
            return Change((opened(),))
        return Change((drafted(state.branches["main"].drafted_end, 2),))

    print(json.dumps({"ready": True}), flush=True)
    for _ in range(int(times)):
        for key in range(int(keys)):
            ledger.append("t", f"shared-{key}", decide)
            ledger.append("t", f"own-{number}-{key}", decide)
    if hasattr(ledger, "close"):
        ledger.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
