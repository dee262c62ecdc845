"""The tools of the crash tests as Python functions, whose processes are told by ``CRASH_FOLDER`` where their world is."""

import os
from pathlib import Path

from gateway.upstream.callables import current_call
from tests.crash.world import OF_STARTERS, Acting, Broken, Present, World, end

_folder = Path(os.environ["CRASH_FOLDER"])
_act, _present = Acting(World(_folder), OF_STARTERS), Present(_folder)


def read(key: str, nth: int) -> dict[str, object]:
    return _done("read", key, nth)


def put(key: str, nth: int) -> dict[str, object]:
    return _done("put", key, nth)


def write(key: str, nth: int) -> dict[str, object]:
    return _done("write", key, nth)


def _done(tool: str, key: str, nth: int) -> dict[str, object]:
    call = current_call()
    with _present.busy():
        try:
            return _act(tool, {"key": key, "nth": nth}, call.commit_key, call.intent_id, call.idempotency_key)
        except Broken:
            end()
            raise
