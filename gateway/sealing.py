"""Sealing in the background: every ``serve`` and ``worker`` takes part, one of them at a time does the work."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from psycopg import Error as PsycopgError
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from gateway.metrics import Meter
from gateway.settings import Settings
from ledger.errors import KeyRefused, LedgerError, NoteRefused
from ledger.evidence.note import SigningKey
from ledger.log.checkpoints import Notary
from ledger.log.entries import StoredCheckpoint
from ledger.log.keys import load_or_make_key
from ledger.log.published import CheckpointFile
from ledger.log.reader import LogReader
from ledger.log.running import Sealing
from ledger.log.sealer import Sealed, Sealer

REPEAT = 60.0
"""Seconds until the same trouble is told again."""

OTHERS = 3.0
"""Seconds for which another process is left to seal what waits, before what is sealed is signed for."""

_LAST_ROUNDS = 100
_LOOK = 0.05

_log = structlog.get_logger(__name__)


def signing_key(engine: Engine, settings: Settings) -> SigningKey:
    """The key that signs for the log of this database; made at its first use.

    Raises KeyRefused, also where the key is missing and something is signed already: another key would sign for another log.
    """
    reader, file = LogReader(engine), settings.ledger_key_file
    state = reader.state()
    kept = CheckpointFile(settings.checkpoints_folder, state.log_id).path
    signed = kept.exists() or reader.checkpoint() is not None
    # Asked in this order: whoever makes the first key at this moment has its file before it signs.
    if signed and not file.exists():
        raise KeyRefused(
            f"{state.origin} is signed already, and there is no {file}: name the file of the key that signed it in "
            "COMMITGATE_LEDGER_KEY, or bring it back from its backup; no other is made"
        )
    return load_or_make_key(file, state.origin)


def notary_over(engine: Engine, settings: Settings) -> Notary:
    """Signs for the log, and publishes beside the database what it signed.

    Raises KeyRefused also where another key has signed for this log before: whoever verifies it trusts one key. And where
    the key was made for another log: whoever may rename a log in the database would have the key sign for two histories.
    """
    key = signing_key(engine, settings)
    reader = LogReader(engine)
    origin = reader.state().origin
    if key.name != origin:
        raise KeyRefused(
            f"the key in {settings.ledger_key_file} signs for the log {key.name}, and this is {origin}: if that is meant, "
            "name another file in COMMITGATE_LEDGER_KEY, where a key of its own is made"
        )
    signed = reader.checkpoint()
    if signed is not None:
        try:
            key.verifier().open(signed.note)
        except NoteRefused as error:
            raise KeyRefused(
                f"this log is signed with another key than that in {settings.ledger_key_file}: name the file of that key "
                "in COMMITGATE_LEDGER_KEY, or set COMMITGATE_SEAL=false and leave sealing to processes that have it"
            ) from error
    return Notary(engine, key, settings.checkpoints_folder)


@contextmanager
def sealing(engine: Engine, settings: Settings, meter: Meter | None = None) -> Iterator[None]:
    """Seal and sign while the block runs, unless the settings say not to; what is committed at its end is sealed, too.

    A database or a folder that is away is waited for. Raises KeyRefused where there is no usable key.
    """
    if not settings.seal:
        _log.info("sealing_off")
        yield
        return
    sealer, notary = Sealer(engine), notary_over(engine, settings)
    told = _Teller(meter)
    running = Sealing(
        sealer,
        notary,
        interval=settings.seal_seconds,
        checkpoint_every=settings.checkpoint_seconds,
        on_round=told.sealed,
        on_error=told.failed,
    )
    running.start()
    try:
        yield
    finally:
        running.stop()
        if told.well:
            _finish(sealer, notary, told)


def sign_now(engine: Engine, settings: Settings) -> StoredCheckpoint:
    """Seal what is committed now, or let the process that does it for a while; sign for what is sealed.

    Raises KeyRefused, LogForked, LedgerUnavailable, OSError where it cannot be published.
    """
    sealer, reader = Sealer(engine, lease_seconds=0), LogReader(engine)
    deadline = time.monotonic() + OTHERS
    while True:
        late = time.monotonic() > deadline
        done = sealer.round(heeding=not late)
        if done.leading and not done.more:
            break
        if not done.leading:
            # Beyond the lease there is only a round under way that keeps another from beginning.
            if not reader.pending().events or time.monotonic() > deadline + OTHERS:
                break
            time.sleep(_LOOK)
    return notary_over(engine, settings).publish()


def _finish(sealer: Sealer, notary: Notary, told: "_Teller") -> None:
    """Rounds until nothing waits, a last checkpoint, and the lease is free; nothing where another process seals."""
    try:
        for _ in range(_LAST_ROUNDS):
            done = sealer.round()
            told.sealed(done)
            if not done.leading:
                return
            if not done.events:
                break
        sealer.resign()
        notary.publish()
    except (LedgerError, OSError, SQLAlchemyError, PsycopgError) as error:
        _log.warning("sealing_not_finished", error=str(error))


class _Teller:
    """Tells the process' log and its metrics of what sealing does; of one kind of trouble once in a while."""

    def __init__(self, meter: Meter | None) -> None:
        self._meter = meter
        self._told: dict[str, float] = {}
        self.well = True

    def sealed(self, done: Sealed) -> None:
        self.well = True
        if done.broken and self._is_time("broken"):
            _log.error("streams_cannot_be_sealed", streams=[name.commit_key for name in done.broken])
        if self._meter is not None:
            self._meter.sealed(done)

    def failed(self, error: Exception) -> None:
        self.well = False
        code = error.code if isinstance(error, LedgerError) else type(error).__name__
        if self._is_time(code):
            _log.error("sealing_failed", code=code, error=str(error))
        if self._meter is not None:
            self._meter.failed(error)

    def _is_time(self, what: str) -> bool:
        now = time.monotonic()
        due = now - self._told.get(what, -REPEAT) >= REPEAT
        if due:
            self._told[what] = now
        return due
