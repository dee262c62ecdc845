"""Token events that go in at a steady rate while calls are sent: windows of drafts and their rulings."""

import time
from collections import deque
from concurrent.futures import Future
from multiprocessing.connection import Connection
from uuid import uuid4

from bench.ingest.load import WINDOWS_A_STREAM, Windows, ending, opening
from gateway.collecting import collect_seldom
from gateway.wiring import utc_now
from ledger.append import Ledger
from ledger.change import Appended
from ledger.connect import connect

STREAMS = 64
TICK = 0.01


def ingest(url: str, window: int, windows_a_second: float, pipe: Connection) -> None:
    """Write windows at this rate until the pipe says so; then tell how many events a second went in."""
    collect_seldom()
    engine = connect(url, application_name="bench-ingest")
    ledger = Ledger(engine, clock=utc_now, cached_streams=1024)
    feed = _Feed(ledger, Windows.made(window, 1, with_replays=False))
    pipe.send("ingesting")
    begin = time.monotonic()
    due = 0.0
    while not pipe.poll():
        due += windows_a_second * TICK
        while due >= 1.0 and feed.free:
            feed.submit()
            due -= 1.0
        time.sleep(max(0.0, begin + TICK * (feed.ticks + 1) - time.monotonic()))
        feed.ticks += 1
    pipe.recv()
    taken = time.monotonic() - begin
    feed.finish()
    pipe.send(feed.events / taken)
    ledger.close()
    engine.dispose()


class _Feed:
    def __init__(self, ledger: Ledger, windows: Windows) -> None:
        self.events = 0
        self.ticks = 0
        # Arms of one run share a server.
        self._name = uuid4().hex
        self._ledger = ledger
        self._windows = windows
        self._steps = [0] * STREAMS
        self._messages = [0] * STREAMS
        self._idle = deque(range(STREAMS))
        self._under_way: set[Future[Appended]] = set()

    @property
    def free(self) -> bool:
        """Whether a stream waits for its next window."""
        return bool(self._idle)

    def submit(self) -> None:
        """Write the next window of the stream that waited longest."""
        stream = self._idle.popleft()
        step = self._steps[stream]
        self._steps[stream] = step + 1
        key = f"{self._name}-{stream}-{self._messages[stream]}"
        if step == 0:
            decide = opening()
        elif step <= WINDOWS_A_STREAM:
            decide = self._windows.window(step + stream)
        else:
            decide = ending()
            self._steps[stream] = 0
            self._messages[stream] += 1
        future = self._ledger.submit("bench-beside", key, decide)
        self._under_way.add(future)

        def done(told: Future[Appended]) -> None:
            self.events += len(told.result().events)
            self._under_way.discard(told)
            self._idle.append(stream)

        future.add_done_callback(done)

    def finish(self) -> None:
        """Wait for what is under way."""
        for future in list(self._under_way):
            future.result(30)
