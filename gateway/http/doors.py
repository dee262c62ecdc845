"""Who comes in: by a key; or anybody, while the gateway listens on loopback and no key was ever made."""

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.exc import SQLAlchemyError

from gateway.errors import Forbidden, Unauthorised
from gateway.http.access import WITHOUT_DATABASE, needed, place
from gateway.http.settings import HttpSettings
from gateway.principal import Principal, everyone
from gateway.service.keyring import Keyring
from ledger.errors import LedgerError

_AWAY = (LedgerError, SQLAlchemyError)


class Doors:
    """The way into one front. ``settings.may_open``: whether it may run open at all."""

    def __init__(self, keyring: Keyring, settings: HttpSettings) -> None:
        """See the class."""
        self._keyring = keyring
        self._settings = settings

    @property
    def known_closed(self) -> bool:
        """Whether a key is needed for all that this process knows; asks nobody."""
        return self._keyring.known_closed or not self._settings.may_open

    async def closed(self) -> bool:
        """Whether a key is needed. While the database is away, what was known last."""
        if self.known_closed:
            return True
        try:
            return await self._any()
        except _AWAY:
            return False

    async def admit(self, request: Request, path: str) -> Principal:
        """Who sends the request to the route ``path``, and may.

        Raises ``Unauthorised``, ``Forbidden``, and what the database raises where it has to be asked.
        """
        roles = needed(request.method, path)
        if roles is None:
            raise Forbidden("no role may call this")
        if not roles:
            return Principal(self._settings.tenant, frozenset())
        principal = await self._identify(request, place(request.method, path) in WITHOUT_DATABASE)
        principal.require(*roles)
        return principal

    async def _identify(self, request: Request, without_database: bool) -> Principal:
        given = request.headers.getlist("authorization")
        # Two headers are as none: nobody knows which is meant.
        header = given[0] if len(given) == 1 else None
        known = self._keyring.known(header)
        if known is not None:
            return known
        try:
            if self.known_closed or await self._any() or await run_in_threadpool(self._is_key, header):
                return await run_in_threadpool(self._keyring.authenticate, header)
            return everyone(self._settings.tenant)
        except _AWAY:
            if not without_database:
                raise
            if not self.known_closed:
                return everyone(self._settings.tenant)
            known = self._keyring.known(header, however_old=True)
            if known is None:
                raise
            return known

    def _is_key(self, header: str | None) -> bool:
        """Whether it is the first key, made a moment ago: whoever shows it must not come in as everybody."""
        try:
            self._keyring.authenticate(header)
        except Unauthorised:
            return self._keyring.known_closed
        return True

    async def _any(self) -> bool:
        if self._keyring.fresh_about_any():
            return self._keyring.any()
        return await run_in_threadpool(self._keyring.any)
