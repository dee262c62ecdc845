"""Signing for the log as it stands, and letting it be known outside the database.

Before anything is signed the log is held against what was signed before, in the database and in the file: a log that
was taken back or rewritten is not signed for a second time.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Engine
from sqlalchemy.dialects.postgresql import insert

from ledger.errors import EvidenceRefused, KeyRefused, LogForked, NoteRefused
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.note import SigningKey
from ledger.evidence.tiles import root
from ledger.log.entries import StoredCheckpoint
from ledger.log.places import LogState, log_state, transaction
from ledger.log.published import CheckpointFile
from ledger.log.reader import newest_checkpoint
from ledger.log.schema import checkpoints
from ledger.log.store import tile_reader


class Notary:
    """Signs checkpoints, stores them, and appends them to a file in ``folder`` (None: they stay in the database).

    ``key``: from ``ledger.log.keys``. ``clock``: aware datetimes for people to read.
    """

    def __init__(
        self,
        engine: Engine,
        key: SigningKey,
        folder: Path | None,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """See the class."""
        self._engine = engine
        self._key = key
        self._folder = folder
        self._clock = clock
        self._file: CheckpointFile | None = None

    def publish(self) -> StoredCheckpoint:
        """Sign for what is sealed now, unless that is signed for already; make sure that it is published.

        Raises LogForked where the log contradicts an earlier checkpoint, KeyRefused where the stored one is not signed with
        this key, LedgerUnavailable, OSError where the file cannot be written (the checkpoint is stored then, and published
        next time).
        """
        with transaction(self._engine) as connection:
            state = log_state(connection)
            newest = newest_checkpoint(connection)
            file = self._file_of(state)
            self._hold_against(connection, state, newest, file)
            signed = newest if newest and newest.size == state.size else self._sign(connection, state)
            self._check_ours(signed)
        if file is not None:
            last = file.last()
            if last is None or last.size < signed.size:
                file.append(signed)
        return signed

    def _sign(self, connection: Connection, state: LogState) -> StoredCheckpoint:
        body = Checkpoint(state.origin, state.size, root(tile_reader(connection), state.size)).body()
        made = {"size": state.size, "note": self._key.sign(body), "at": self._clock()}
        connection.execute(insert(checkpoints).values(made).on_conflict_do_nothing())
        # Where somebody else was faster, what they signed is the checkpoint of this size.
        stored = newest_checkpoint(connection)
        if stored is None or stored.size < state.size:
            raise LogForked(state.origin, state.size, "the database")
        return stored

    def _check_ours(self, signed: StoredCheckpoint) -> None:
        """What is published outside is signed by this key: anybody who may write checkpoints could have put it there."""
        try:
            self._key.verifier().open(signed.note)
        except NoteRefused as error:
            raise KeyRefused(
                f"the stored checkpoint of {signed.size} events is not signed with it: {error}"
            ) from error

    def _file_of(self, state: LogState) -> CheckpointFile | None:
        if self._file is None and self._folder is not None:
            self._file = CheckpointFile(self._folder, state.log_id)
        return self._file

    def _hold_against(
        self,
        connection: Connection,
        state: LogState,
        newest: StoredCheckpoint | None,
        file: CheckpointFile | None,
    ) -> None:
        last = file.last() if file is not None else None
        if newest is not None:
            _check_extends(connection, state, newest.note, "the database")
        if last is not None and (newest is None or last.note != newest.note):
            _check_extends(connection, state, last.note, "the published file")


def _check_extends(connection: Connection, state: LogState, note: str, where: str) -> None:
    try:
        # Who signed it does not matter here: it is our own record of what was said.
        before = Checkpoint.parse(note.partition("\n\n")[0] + "\n")
        fits = before.origin == state.origin and before.size <= state.size
        if fits and root(tile_reader(connection), before.size) == before.root:
            return
    except EvidenceRefused as error:
        raise LogForked(state.origin, state.size, where) from error
    raise LogForked(state.origin, before.size, where)
