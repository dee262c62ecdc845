"""The shop's counter: takes one request at a time, writes it down, acts, writes down what came of it."""

import json
import sqlite3
import threading
from collections.abc import Callable

from examples.shop.refusal import RefusalError
from examples.shop.request_log import Outcome, Request, RequestLog
from examples.shop.tools import ARGUMENTS, READ_ONLY, run_tool

KEEPS_ANSWERS = frozenset({"set_address"})
"""The tools that honour an Idempotency-Key. The others do a thing as often as they are told to."""
WINDOW = 24 * 3600.0
"""Seconds for which an answer is kept under its Idempotency-Key."""

MAX_BODY = 64 * 1024


class Counter:
    """Serves requests against one store; calls may come from any thread and are served one by one."""

    def __init__(self, store: sqlite3.Connection, log: RequestLog, clock: Callable[[], float]) -> None:
        """``clock`` gives seconds since 1970."""
        self._store = store
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()

    def receive(self, request: Request) -> int:
        """Put ``request`` on disk before anything is done about it; its number in the log."""
        return self._log.received(request)

    def serve(self, n: int, request: Request) -> Outcome:
        """Act on request ``n`` and put its outcome on disk, too. A refusal is an outcome."""
        with self._lock:
            try:
                outcome = self._act(request)
            except RefusalError as refusal:
                outcome = _refused(refusal)
            self._log.handled(n, request.tool, outcome)
            return outcome

    def _act(self, request: Request) -> Outcome:
        if request.tool not in ARGUMENTS:
            raise RefusalError("unknown_tool", f"there is no tool {request.tool}")
        arguments = _parse(request.body)
        keeps = request.tool in KEEPS_ANSWERS and request.idempotency_key is not None
        self._store.execute("BEGIN IMMEDIATE")
        try:
            outcome = (self._kept(request, arguments) if keeps else None) or self._run(
                request.tool, arguments
            )
            if keeps and not outcome.replayed:
                self._keep(request, arguments, outcome)
            self._store.execute("COMMIT")
        except BaseException:
            self._store.execute("ROLLBACK")
            raise
        return outcome

    def _run(self, tool: str, arguments: object) -> Outcome:
        self._store.execute("SAVEPOINT tool")
        try:
            answer = run_tool(self._store, tool, arguments)
        except RefusalError as refusal:
            self._store.execute("ROLLBACK TO tool")
            return _refused(refusal)
        return Outcome(200, answer, effect=tool not in READ_ONLY)

    def _kept(self, request: Request, arguments: object) -> Outcome | None:
        row = self._store.execute(
            "SELECT arguments, status, answer FROM kept_answers WHERE tool = ? AND key = ? AND at > ?",
            (request.tool, request.idempotency_key, self._clock() - WINDOW),
        ).fetchone()
        if row is None:
            return None
        if row["arguments"] != _canonical(arguments):
            raise RefusalError(
                "idempotency_key_reused", "this Idempotency-Key came with other arguments before"
            )
        return Outcome(row["status"], json.loads(row["answer"]), replayed=True)

    def _keep(self, request: Request, arguments: object, outcome: Outcome) -> None:
        self._store.execute(
            "INSERT OR REPLACE INTO kept_answers (tool, key, arguments, at, status, answer)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                request.tool,
                request.idempotency_key,
                _canonical(arguments),
                self._clock(),
                outcome.status,
                json.dumps(outcome.answer),
            ),
        )


def _refused(refusal: RefusalError) -> Outcome:
    # A detail may quote what was sent, lone surrogates included, which no JSON answer can carry.
    detail = refusal.detail.encode("utf-8", "replace").decode()
    return Outcome(refusal.status, {"error": refusal.code, "detail": detail})


def _parse(body: bytes) -> object:
    if len(body) > MAX_BODY:
        raise RefusalError("bad_arguments", f"the body is larger than {MAX_BODY} bytes")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusalError("bad_json", "the body is not JSON") from error


def _canonical(arguments: object) -> str:
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"))
