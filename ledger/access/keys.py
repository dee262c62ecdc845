"""API keys as the database keeps them: the digest of the secret, never the secret.

Gateways look keys up and note their use; to make and to revoke them takes a member of ``commitgate_migrator``.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Engine, Row, func, insert, select, update
from sqlalchemy.exc import ProgrammingError

from ledger.access.schema import keys
from ledger.migrate import check_newest

USE_INTERVAL = timedelta(minutes=1)
"""How seldom the use of a key is written down."""


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One key. ``digest``: SHA-256 of the secret. ``roles``: names, as interface.md has them."""

    id: str
    tenant: str
    roles: tuple[str, ...]
    digest: bytes
    label: str | None
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None

    def good_at(self, moment: datetime) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or moment < self.expires_at)


def find_key(engine: Engine, key_id: str) -> KeyRow | None:
    """The key of this id, whatever its state; None where there is none."""
    with engine.connect() as connection:
        row = connection.execute(select(keys).where(keys.c.id == key_id)).one_or_none()
    return None if row is None else _key(row)


def any_key(engine: Engine) -> bool:
    """Whether a key was ever made, be it revoked or not. Raises SchemaOutdated where there is no table of keys."""
    try:
        with engine.connect() as connection:
            return connection.execute(select(keys.c.id).limit(1)).first() is not None
    except ProgrammingError:
        check_keys_table(engine)
        raise


def list_keys(engine: Engine, tenant: str | None = None) -> list[KeyRow]:
    """All keys, of one tenant if it is named, oldest first."""
    found = select(keys).order_by(keys.c.created_at, keys.c.id)
    if tenant is not None:
        found = found.where(keys.c.tenant == tenant)
    with engine.connect() as connection:
        return [_key(row) for row in connection.execute(found)]


def add_key(
    engine: Engine,
    key_id: str,
    digest: bytes,
    *,
    tenant: str,
    roles: Collection[str],
    label: str | None,
    by: str,
    lasts: timedelta | None = None,
) -> KeyRow:
    """Keep a new key. ``lasts``: how long it is good, by the database's clock. Needs the owner's login."""
    with engine.begin() as connection:
        made = insert(keys).values(
            id=key_id,
            tenant=tenant,
            roles=sorted(roles),
            digest=digest,
            label=label,
            created_at=func.now(),
            created_by=by,
            expires_at=None if lasts is None else func.now() + lasts,
        )
        return _key(connection.execute(made.returning(*keys.c)).one())


def revoke_key(engine: Engine, key_id: str) -> KeyRow | None:
    """Take a key out of use for good; None where there is none. Twice is as once. Needs the owner's login."""
    with engine.begin() as connection:
        revoked = update(keys).where(keys.c.id == key_id)
        row = connection.execute(
            revoked.values(revoked_at=func.coalesce(keys.c.revoked_at, func.now())).returning(*keys.c)
        ).one_or_none()
    return None if row is None else _key(row)


def note_use(engine: Engine, key_id: str) -> None:
    """Write down that a key was used, unless that was done within the last minute, by whichever process."""
    longer_ago = keys.c.last_used_at.is_(None) | (keys.c.last_used_at < func.now() - USE_INTERVAL)
    with engine.begin() as connection:
        connection.execute(
            update(keys).where(keys.c.id == key_id, longer_ago).values(last_used_at=func.now())
        )


def check_keys_table(engine: Engine) -> None:
    """Raise SchemaOutdated unless the newest migration is applied."""
    with engine.connect() as connection:
        check_newest(connection)


def _key(row: Row[tuple[object, ...]]) -> KeyRow:
    values = dict(row._mapping)
    return KeyRow(**values | {"roles": tuple(values["roles"]), "digest": bytes(values["digest"])})
