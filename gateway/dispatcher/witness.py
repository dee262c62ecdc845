"""What a dispatcher saw last of its database, kept outside of it: only so it shows that the database went back.

A backup of the data folder that is put back without recovery to a new timeline is the same incarnation as before
(``ledger.incarnation``). Dispatchers that go on running remember the later end of its log; one that was started since
has to be told, by a file in the home.
"""

import json
import os
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import structlog

from ledger.incarnation import Database

_log = structlog.get_logger(__name__)


class Witness(Protocol):
    """Remembers databases by their incarnation."""

    def last(self, identity: str) -> Database | None:
        """The database as it was kept last under this incarnation; None where it never was."""
        ...

    def keep(self, database: Database) -> None:
        """Remember it in place of what was kept before."""
        ...


class NoWitness:
    """Remembers nothing: a dispatcher knows what it has seen itself."""

    def last(self, _identity: str) -> Database | None:
        """None."""
        return None

    def keep(self, _database: Database) -> None:
        """Nothing."""


class WitnessFile:
    """A file for each incarnation in ``folder``. One that cannot be read or written is none, and that is logged."""

    def __init__(self, folder: Path) -> None:
        """``folder`` is made where it is missing."""
        self._folder = folder
        self._failed = False

    def last(self, identity: str) -> Database | None:
        """See Witness."""
        try:
            told = json.loads(self._path(identity).read_text(encoding="utf-8"))
            return Database(
                str(told["identity"]), datetime.fromisoformat(told["started_at"]), int(told["flushed"])
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("witness_not_read", error=str(error))
            return None

    def keep(self, database: Database) -> None:
        """See Witness."""
        told = {
            "identity": database.identity,
            "started_at": database.started_at.isoformat(),
            "flushed": database.flushed,
        }
        path = self._path(database.identity)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(told), encoding="utf-8")
            draft.replace(path)
        except OSError as error:
            if not self._failed:
                _log.warning("witness_not_kept", error=str(error))
            self._failed = True
        else:
            self._failed = False

    def _path(self, identity: str) -> Path:
        return self._folder / f"{sha256(identity.encode()).hexdigest()[:16]}.json"
