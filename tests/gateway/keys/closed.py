"""A front that asks for keys, and callers with keys of their own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import httpx2
from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from gateway.apikey import ApiKey
from gateway.principal import Role
from ledger.access.keys import add_key
from tests.gateway.http.front import Front
from tests.gateway.http.front import front as running_front
from tests.postgres import TestDatabase


@dataclass
class Closed:
    """``front`` asks for keys since the first was made."""

    front: Front
    owner: Engine
    clients: ExitStack = field(default_factory=ExitStack)

    def key(self, *roles: Role, tenant: str = "default", lasts: timedelta | None = None) -> ApiKey:
        key = ApiKey.fresh(secrets.token_bytes)
        names = {role.value for role in roles}
        add_key(
            self.owner, key.id, key.digest, tenant=tenant, roles=names, label=None, by="test", lasts=lasts
        )
        return key

    def client(self, *roles: Role, tenant: str = "default") -> httpx2.Client:
        """A client with a key of its own; it ends with the front."""
        return self.with_key(self.key(*roles, tenant=tenant).text)

    def with_key(self, text: str) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {text}"}
        client = httpx2.Client(base_url=self.front.url, timeout=30, headers=headers, trust_env=False)
        return self.clients.enter_context(client)


@contextmanager
def closed_front(database: TestDatabase) -> Iterator[Closed]:
    owner = create_engine(database.owner_url, poolclass=NullPool)
    with running_front(database) as front:
        closed = Closed(front, owner)
        # The front's own client, which tests of the open mode use too, now shows a key that may do everything.
        front.client.headers["Authorization"] = f"Bearer {closed.key(Role.ADMIN).text}"
        assert front.client.get("/v1/effects").status_code == 200
        assert front.services.keyring.known_closed
        with closed.clients:
            yield closed
        front.services.keyring.close()
