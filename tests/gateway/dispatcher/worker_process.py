"""A dispatcher in a process of its own, to be killed or stopped: ``python -m ... DATABASE_URL WORKER_ID``."""

import asyncio
import sys
from datetime import UTC, datetime

from gateway.dispatcher.worker import Dispatcher
from gateway.service.tables import EffectTables
from gateway.upstream.http import HttpUpstream
from ledger.append import Ledger
from ledger.connect import connect
from ledger.work import Work
from tests.gateway.dispatcher.floor import with_settings


def main(url: str, worker_id: str) -> None:
    def clock() -> datetime:
        return datetime.now(UTC)

    engine = connect(url)
    ledger = Ledger(engine, clock=clock)
    dispatcher = Dispatcher(
        ledger,
        Work(engine),
        EffectTables(ledger, clock),
        HttpUpstream(),
        with_settings(lease_floor=0.6),
        clock,
        worker_id,
    )
    asyncio.run(dispatcher.run(asyncio.Event()))


if __name__ == "__main__":
    main(*sys.argv[1:])
