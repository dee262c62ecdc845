"""Who a key is: from the text of a key to a principal, and whether any key exists at all.

What the database says of a key, and whether there is one, is believed for ``FRESH`` seconds: so long at most a revoked key
still works in a gateway that has just used it, and so long a gateway stays open after the first key was made. Unknown keys
are asked about each time.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from gateway.apikey import ApiKey
from gateway.errors import Unauthorised
from gateway.principal import Principal, Role
from ledger.access import keys
from ledger.access.keys import KeyRow
from ledger.errors import LedgerError

FRESH = 1.0
"""Seconds for which an answer of the database is good."""

KNOWN = 4096
"""Keys remembered at most."""

_NOBODY = bytes(32)
_REFUSED = "the key is not known, revoked or expired"
_BEARER = "bearer "

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Seen:
    row: KeyRow
    at: float


class Keyring:
    """The keys of one database, as one process knows them. Safe to share among threads."""

    def __init__(
        self, engine: Engine, clock: Callable[[], datetime], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """``clock`` decides about expiry; ``monotonic``: seconds."""
        self._engine = engine
        self._clock = clock
        self._monotonic = monotonic
        self._lock = Lock()
        self._seen: dict[str, _Seen] = {}
        self._any = False
        self._asked: float | None = None
        self._noted: dict[str, float] = {}
        self._notes: ThreadPoolExecutor | None = None

    @property
    def known_closed(self) -> bool:
        """Whether this process has seen a key. It never turns back: keys stay, the revoked ones too."""
        return self._any

    def fresh_about_any(self) -> bool:
        """Whether ``any()`` would answer without asking the database."""
        return self._any or (self._asked is not None and self._monotonic() - self._asked < FRESH)

    def any(self) -> bool:
        """Whether a key was ever made. May ask the database, and raises what it raises."""
        if not self.fresh_about_any():
            asked = self._monotonic()
            found = keys.any_key(self._engine)
            self._any, self._asked = self._any or found, asked
        return self._any

    def known(self, authorization: str | None, *, however_old: bool = False) -> Principal | None:
        """The principal of a header, where this process knows without asking; None where it has to ask.

        ``however_old``: what was known before counts too, for callers who must be answered while the database is away.
        """
        key = _key_of(authorization)
        seen = None if key is None else self._seen.get(key.id)
        if key is None or seen is None or not key.matches(seen.row.digest):
            return None
        if not however_old and self._monotonic() - seen.at >= FRESH:
            return None
        return self._principal(seen.row)

    def authenticate(self, authorization: str | None) -> Principal:
        """The principal of an ``Authorization`` header. May ask the database.

        Raises ``Unauthorised``, with the same words whether the key is unknown, revoked, expired or not a key.
        """
        if authorization is None:
            raise Unauthorised("the request needs the header Authorization: Bearer KEY")
        key = _key_of(authorization)
        if key is None:
            raise Unauthorised(_REFUSED)
        known = self.known(authorization)
        if known is not None:
            return known
        asked = self._monotonic()
        row = keys.find_key(self._engine, key.id)
        # An unknown id takes as long as a wrong secret.
        if not key.matches(_NOBODY if row is None else row.digest) or row is None:
            raise Unauthorised(_REFUSED)
        with self._lock:
            self._any = True
            if len(self._seen) >= KNOWN:
                self._seen.clear()
            self._seen[key.id] = _Seen(row, asked)
        return self._principal(row)

    def close(self) -> None:
        """Let what is to be written down about uses be written."""
        with self._lock:
            notes, self._notes = self._notes, None
        if notes is not None:
            notes.shutdown(wait=True)

    def _principal(self, row: KeyRow) -> Principal:
        if not row.good_at(self._clock()):
            raise Unauthorised(_REFUSED)
        self._note(row.id)
        known = {role.value for role in Role}
        return Principal(
            row.tenant, frozenset(Role(name) for name in row.roles if name in known), f"key:{row.id}"
        )

    def _note(self, key_id: str) -> None:
        now = self._monotonic()
        last = self._noted.get(key_id)
        if last is not None and now - last < keys.USE_INTERVAL.total_seconds():
            return
        with self._lock:
            if self._noted.get(key_id) != last:
                return
            if len(self._noted) >= KNOWN:
                self._noted.clear()
            self._noted[key_id] = now
            self._notes = self._notes or ThreadPoolExecutor(1, thread_name_prefix="key-uses")
            self._notes.submit(self._write_note, key_id)

    def _write_note(self, key_id: str) -> None:
        try:
            keys.note_use(self._engine, key_id)
        except (LedgerError, SQLAlchemyError) as error:
            _log.warning("use_of_key_not_noted", key=key_id, error=type(error).__name__)


def _key_of(authorization: str | None) -> ApiKey | None:
    given = (authorization or "").strip()
    if given[: len(_BEARER)].lower() != _BEARER:
        return None
    return ApiKey.parse(given[len(_BEARER) :].strip())
