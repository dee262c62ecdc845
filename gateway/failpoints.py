"""Fail points: the moments between an accepted token and a recorded outcome at which a crash is tried, by name.

A process meets them with ``reached`` and goes on: one global is looked at. Only where ``COMMITGATE_FAIL_AT`` names a point
and ``COMMITGATE_CRASH_TESTS`` is ``1`` it ends there by SIGKILL, or stands still until it is told to go on, so that another
process (the database, a tool) can be killed at that very moment. Named without the switch, the process refuses to start.
"""

import os
import signal
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine, event

from gateway.errors import FailPointsRefused
from ledger.session import driver_connection

FAIL_AT, HOLD, SWITCH = "COMMITGATE_FAIL_AT", "COMMITGATE_FAIL_HOLD", "COMMITGATE_CRASH_TESTS"
"""Environment: ``POINT`` or ``POINT:N`` (the N-th time it is reached), a file that says it is reached, the switch."""

_LOOK = 0.002


class FailPoint(StrEnum):
    """In the order of a call's life. ``*_decided``: before anything is written; ``*_commit_sent``: COMMIT left, and no
    answer was read; ``*_committed``: durable, and nobody was told."""

    # A gateway takes a batch of token events; what these clear is released in the same transaction.
    RULING_RECEIVED = "ruling_received"
    RULING_DECIDED = "ruling_decided"
    RULING_COMMIT_SENT = "ruling_commit_sent"
    RULING_COMMITTED = "ruling_committed"
    # A dispatcher claims a released call: its dispatch and its licence.
    RELEASED_FOUND = "released_found"
    CLAIM_DECIDED = "claim_decided"
    CLAIM_COMMIT_SENT = "claim_commit_sent"
    CLAIM_COMMITTED = "claim_committed"
    # It sends.
    SENDING = "sending"
    REQUEST_PARTLY_WRITTEN = "request_partly_written"
    REQUEST_WRITTEN = "request_written"
    REPEATING = "repeating"
    LEASE_RENEWING = "lease_renewing"
    LEASE_RENEWED = "lease_renewed"
    # An answer came.
    ANSWER_RECEIVED = "answer_received"
    OUTCOME_DECIDED = "outcome_decided"
    OUTCOME_COMMIT_SENT = "outcome_commit_sent"
    OUTCOME_COMMITTED = "outcome_committed"
    # None came in time, or none at all.
    CALL_OVERDUE = "call_overdue"
    LOSS_DECIDED = "loss_decided"
    LOSS_COMMIT_SENT = "loss_commit_sent"
    LOSS_COMMITTED = "loss_committed"
    LATE_AWAITED = "late_awaited"
    LATE_RECEIVED = "late_received"
    # A sweep finds what another dispatcher left.
    EXPIRED_FOUND = "expired_found"
    SEIZE_DECIDED = "seize_decided"
    SEIZE_COMMIT_SENT = "seize_commit_sent"
    SEIZED = "seized"
    RETRY_DUE = "retry_due"
    # A person settles a doubt.
    RESOLUTION_RECEIVED = "resolution_received"
    RESOLUTION_DECIDED = "resolution_decided"
    RESOLUTION_COMMIT_SENT = "resolution_commit_sent"
    RESOLUTION_COMMITTED = "resolution_committed"


BEFORE_COMMIT: Mapping[FailPoint, FailPoint] = {
    FailPoint.RULING_COMMIT_SENT: FailPoint.RULING_DECIDED,
    FailPoint.CLAIM_COMMIT_SENT: FailPoint.CLAIM_DECIDED,
    FailPoint.OUTCOME_COMMIT_SENT: FailPoint.OUTCOME_DECIDED,
    FailPoint.LOSS_COMMIT_SENT: FailPoint.LOSS_DECIDED,
    FailPoint.SEIZE_COMMIT_SENT: FailPoint.SEIZE_DECIDED,
    FailPoint.RESOLUTION_COMMIT_SENT: FailPoint.RESOLUTION_DECIDED,
}
"""The decision whose COMMIT is meant: it is the next transaction that begins after it was taken."""


def reached(point: FailPoint) -> None:
    """Go on, unless this process was started to end here."""
    if _armed is not None:
        _armed.meet(point)


def decided_inside(connection: Connection) -> None:
    """The decision whose COMMIT is meant was taken inside of the transaction on ``connection``, which had begun before."""
    if _armed is not None:
        _armed.begun(connection)


def arm(environ: Mapping[str, str] = os.environ) -> None:
    """Take the environment's word for where to end. Raises FailPointsRefused: no such point, or not switched on."""
    global _armed
    told = environ.get(FAIL_AT)
    if not told:
        _armed = None
        return
    if environ.get(SWITCH) != "1":
        raise FailPointsRefused(f"{FAIL_AT} kills this process on purpose; only tests may, with {SWITCH}=1")
    name, _, count = told.partition(":")
    try:
        point, times = FailPoint(name), int(count or "1")
    except ValueError as error:
        raise FailPointsRefused(f"{FAIL_AT} names no fail point: {told!r}") from error
    hold = environ.get(HOLD)
    _armed = _Armed(point, times, Path(hold) if hold else None)


def watch(engine: Engine) -> None:
    """Let COMMITs through ``engine`` be fail points; nothing where the process is not to end at one."""
    if _armed is not None and _armed.at_commit:
        event.listen(engine, "begin", _armed.begun)
        event.listen(engine, "commit", _armed.committing)


class _Armed:
    """One point at which this process ends or stands still, once."""

    def __init__(self, point: FailPoint, times: int, hold: Path | None) -> None:
        self._meant = BEFORE_COMMIT.get(point, point)
        self._point = point
        self._left = times
        self._hold = hold
        self._lock = Lock()
        self._due = False

    @property
    def at_commit(self) -> bool:
        return self._meant is not self._point

    def meet(self, point: FailPoint) -> None:
        if point is not self._meant:
            return
        with self._lock:
            self._left -= 1
            if self._left != 0:
                return
            self._due = self.at_commit
        if not self.at_commit:
            self._end()

    def begun(self, connection: Connection) -> None:
        connection.info["fail_at_commit"] = self._due

    def committing(self, connection: Connection) -> None:
        with self._lock:
            if not self._due or not connection.info.get("fail_at_commit"):
                return
            self._due = False
        libpq: Any = driver_connection(connection).pgconn
        libpq.send_query(b"commit")
        while libpq.flush():
            pass
        self._end()
        while libpq.get_result() is not None:
            pass

    def _end(self) -> None:
        if self._hold is None:
            os.kill(os.getpid(), signal.SIGKILL)
            return
        self._hold.write_text(self._point.value, encoding="utf-8")
        while not self._hold.with_suffix(".go").exists():
            time.sleep(_LOOK)


_armed: _Armed | None = None
