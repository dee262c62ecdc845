"""One group commit: what many streams want to append, written in one transaction.

A stream that moved on meanwhile fails alone. A row that somebody else holds is waited for shortly, then whoever wants it
waits outside of the group. What only the database can refuse (a licence, a lost lease, a value that it
cannot hold) rolls the transaction back; the one at fault is set aside and the others are written again.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.errors import Diagnostic
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from ledger.change import BatchReplay
from ledger.draft import Draft
from ledger.errors import BatchIdTaken, LedgerUnavailable, LicenceRefused, OutcomeUnknown
from ledger.faults import Conflict, ConnectionLost, meaning
from ledger.group.copying import copy_text
from ledger.group.lookup import was_written
from ledger.group.side import NotHeld, Placed, write_side
from ledger.group.statements import (
    ANNOUNCE,
    BEGIN_STREAMS,
    COPY_EVENTS,
    KEEP_BATCHES,
    MOVE_STREAMS,
    PUT_INTENTS,
    WAIT_SHORTLY,
    rows_json,
)
from ledger.group.writer import Verdict
from ledger.server import server_of
from ledger.session import driver_connection, transaction
from ledger.sharding import StreamName

LOOK_UPS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Pauses in seconds before each try to find out what became of a COMMIT."""


class _Fault(Exception):
    """One draft is refused, and the transaction with it."""

    def __init__(self, place: int, error: BaseException) -> None:
        super().__init__(str(error))
        self.place = place
        self.error = error


class _SomeRefused(Exception):
    """One of several licences is refused; written one by one they show which."""


class GroupTransaction:
    """Writes groups of drafts of different streams. Safe for many threads; ``sleep`` spaces out look-ups.

    ``notify``: announce released calls on the channel ``commitgate``, once a group.
    """

    def __init__(self, engine: Engine, sleep: Callable[[float], None], *, notify: bool) -> None:
        self._engine = engine
        self._server = server_of(engine)
        self._sleep = sleep
        self._notify = notify

    def write(self, drafts: Sequence[Draft]) -> list[Verdict]:
        """Write them; what became of each, in their order. Never raises what concerns one of them alone."""
        verdicts: list[Verdict] = [None] * len(drafts)
        left = list(range(len(drafts)))
        together = True
        while left:
            try:
                told = self._once([drafts[p] for p in left], together=together)
                for place, verdict in zip(left, told, strict=True):
                    verdicts[place] = verdict
                break
            except _SomeRefused:
                together = False
            except _Fault as fault:
                verdicts[left.pop(fault.place)] = fault.error
            except (LedgerUnavailable, OutcomeUnknown) as error:
                for place in left:
                    # Each caller raises its own: a shared one would collect the traces of all.
                    verdicts[place] = type(error)(str(error))
                break
            except Exception as error:  # noqa: BLE001 - whose fault it is shows when each is alone
                if len(left) == 1:
                    verdicts[left[0]] = error
                    break
                for place in left:
                    verdicts[place] = self.write([drafts[place]])[0]
                break
        return verdicts

    def finish(self, connection: Connection, draft: Draft) -> None:
        """Write ``draft`` into the transaction that is open on ``connection`` and holds the row of its stream, and commit.

        Raises what is wrong with it, Conflict where the stream stands elsewhere, and OutcomeUnknown.
        """
        driver = driver_connection(connection)
        if draft.met != self._server.changes or draft.stream not in _move(driver, [draft]):
            raise _behind(draft)
        try:
            self._fill(connection, driver, [draft], [0], together=True)
        except _Fault as fault:
            raise fault.error from fault
        self._commit(connection, [draft])

    def _once(self, drafts: Sequence[Draft], *, together: bool) -> list[Verdict]:
        try:
            with transaction(self._engine) as connection:
                # For settings that a pooler wants inside of each transaction.
                connection.begin()
                driver = driver_connection(connection)
                # Another server may have events of its own under the seq that a decision was taken on.
                moved = _move(driver, [d for d in drafts if d.met == self._server.changes])
                verdicts: list[Verdict] = [None if d.stream in moved else _behind(d) for d in drafts]
                writing = [place for place, verdict in enumerate(verdicts) if verdict is None]
                if writing:
                    self._fill(connection, driver, drafts, writing, together=together)
                    self._commit(connection, [drafts[place] for place in writing])
                return verdicts
        except ConnectionLost as error:
            raise LedgerUnavailable(str(error)) from error

    def _fill(
        self,
        connection: Connection,
        driver: "psycopg.Connection[Any]",
        drafts: Sequence[Draft],
        writing: list[int],
        *,
        together: bool,
    ) -> None:
        chosen = [drafts[place] for place in writing]
        _keep_batches(driver, drafts, writing)
        if text := copy_text(chosen):
            with driver.cursor() as cursor, cursor.copy(COPY_EVENTS) as copy:
                copy.write(text)
        # Most windows move no intent, and an empty pipeline would cost them a round trip.
        if rows := [{**row, **d.stream.columns()} for d in chosen for row in d.rows.intents]:
            with driver.pipeline():
                driver.execute(PUT_INTENTS, (rows_json(rows),))
                if self._notify and any(_releases(d) for d in chosen):
                    driver.execute(ANNOUNCE)
        side = [
            (place, drafts[place].stream, row)
            for place in writing
            for row in drafts[place].side
            if not isinstance(row, BatchReplay)
        ]
        for written in [side] if together else [[row] for row in side]:
            with _blamed(written):
                write_side(connection, driver, written)

    def _commit(self, connection: Connection, drafts: Sequence[Draft]) -> None:
        driver = driver_connection(connection)
        severities: list[str | None] = []

        def noticed(notice: Diagnostic) -> None:
            # What it says can be read here and no more afterwards.
            severities.append(notice.severity_nonlocalized)

        driver.add_notice_handler(noticed)
        try:
            connection.commit()
        except DBAPIError as error:
            if not driver.closed:
                raise
            if not self._settle(drafts, error):
                raise Conflict("the connection was lost at COMMIT, and nothing was written") from error
        finally:
            driver.remove_notice_handler(noticed)
        if "WARNING" in severities:
            # Somebody called off its waiting for a standby: it is committed here, and perhaps nowhere else.
            self._settle(drafts, None)

    def _settle(self, drafts: Sequence[Draft], cause: DBAPIError | None) -> bool:
        """Whether a COMMIT whose answer was lost took place, durably: one row tells for all of its transaction."""
        told = next((draft for draft in drafts if draft.records), None)
        if told is None:
            raise OutcomeUnknown(
                "the connection was lost at COMMIT, and no event says whether it happened"
            ) from cause
        for pause in LOOK_UPS:
            self._sleep(pause)
            try:
                with transaction(self._engine) as connection:
                    return was_written(connection, told.stream, told.records[0])
            except (ConnectionLost, Conflict):
                continue
        raise OutcomeUnknown(
            "the connection was lost at COMMIT, and the database does not answer since"
        ) from cause


def _move(driver: "psycopg.Connection[Any]", drafts: Sequence[Draft]) -> Collection[StreamName]:
    """Move the rows of the streams; those that stood where their decision was taken.

    They come first: whoever comes second waits here and finds the row moved, which is no error in the server's log. The
    events' primary key is the check all the same.
    """
    going = [_stream_row(d) | {"before": d.before.seq} for d in drafts if d.before.seq]
    beginning = [_stream_row(d) for d in drafts if not d.before.seq]
    with driver.pipeline():
        driver.execute(WAIT_SHORTLY)
        cursors = [
            driver.execute(statement, (rows_json(rows),))
            for statement, rows in ((MOVE_STREAMS, going), (BEGIN_STREAMS, beginning))
            if rows
        ]
    return {StreamName(*row) for cursor in cursors for row in cursor}


def _behind(draft: Draft) -> Conflict:
    return Conflict(f"stream {draft.stream.commit_key!r} is no longer at {draft.before.seq}")


def _stream_row(draft: Draft) -> dict[str, object]:
    return {**draft.rows.stream, **draft.stream.columns(), "unsealed": True}


def _keep_batches(driver: "psycopg.Connection[Any]", drafts: Sequence[Draft], writing: list[int]) -> None:
    kept = {
        (*drafts[place].stream.columns().values(), row.batch_id): (place, row)
        for place in writing
        for row in drafts[place].side
        if isinstance(row, BatchReplay)
    }
    if not kept:
        return
    told = [
        {
            **drafts[place].stream.columns(),
            "batch_id": row.batch_id,
            "body_digest": row.body_digest.hex(),
            "response": row.response,
        }
        for place, row in kept.values()
    ]
    for name in {tuple(found) for found in driver.execute(KEEP_BATCHES, (rows_json(told),))}:
        del kept[name]
    for place, _row in kept.values():
        raise _Fault(place, BatchIdTaken("a batch of this name is recorded already"))


def _releases(draft: Draft) -> bool:
    return any(row["state"] == "released" for row in draft.rows.intents)


@contextmanager
def _blamed(rows: Sequence[Placed]) -> Iterator[None]:
    try:
        yield
    except NotHeld as lost:
        raise _Fault(lost.place, lost.error) from lost
    except Exception as error:
        found = meaning(error)
        if not isinstance(found, LicenceRefused):
            raise
        if len(rows) > 1:
            raise _SomeRefused from error
        raise _Fault(rows[0][0], found) from error
