"""Follows what the ledger records of one stream while it is being written."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from gateway.demo.api import Api, Json

PAUSE = 0.04
"""Seconds between two looks."""


class Follower:
    """Tells every event of a stream to ``tell``, in order, from a thread of its own while the block runs.

    Leaving the block without an error tells what is recorded until then, too.
    """

    def __init__(self, url: str, key: str, tell: Callable[[Json], None], api_key: str | None = None) -> None:
        self._key = key
        self._tell = tell
        self._url = url
        self._api_key = api_key
        self._seq = 0
        self._ended = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(None if kind is None else 1.0)
        if kind is None and self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            with Api(self._url, self._api_key) as api:
                while not self._ended.wait(PAUSE):
                    self._look(api)
                self._look(api)
        except Exception as failure:  # noqa: BLE001 - raised again where the block is left
            self._failure = failure

    def _look(self, api: Api) -> None:
        """Tell everything that is there now."""
        while True:
            events, seq = api.events(self._key, self._seq)
            for event in events:
                self._tell(event)
                self._seq = int(event["seq"])
            if self._seq >= seq:
                return
