"""Whose auditor a login is. For members of ``commitgate_migrator`` alone: no auditor and no service may write it."""

from dataclasses import dataclass

from sqlalchemy import Connection, Engine, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError

from ledger.access.duty import SERVICE_ROLE, Duty
from ledger.access.schema import auditors
from ledger.errors import NotAnAuditor, UnfitAuditor, UnknownLogin
from ledger.migrate import check_newest

_MEMBER = text(
    "select pg_catalog.pg_has_role(r.oid, a.oid, 'USAGE') from pg_catalog.pg_roles r, pg_catalog.pg_roles a"
    " where r.rolname = :login and a.rolname = :auditor"
)


# Membership without inheritance counts: SET ROLE is all that it takes.
_POWERS = text("""
select power from (
    select 1 as place, 'is a superuser' as power from pg_catalog.pg_roles r where r.rolname = :login and r.rolsuper
    union all
    select 2, 'is a member of ' || g.rolname from pg_catalog.pg_roles g, pg_catalog.pg_roles r
    where r.rolname = :login and not r.rolsuper and g.rolname = any (cast(:groups as text[]))
        and (pg_catalog.pg_has_role(r.oid, g.oid, 'MEMBER'))
    union all
    select 3, 'may read ' || c.oid::regclass
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace, pg_catalog.pg_roles r
    where r.rolname = :login and not r.rolsuper and n.nspname = 'ledger' and c.relname = 'events'
        and (pg_catalog.has_table_privilege(r.oid, c.oid, 'SELECT') or pg_catalog.pg_has_role(r.oid, c.relowner, 'MEMBER'))
) powers
order by place, power
""")
_GROUPS = [SERVICE_ROLE, *(duty.role for duty in Duty if duty is not Duty.AUDITOR), "pg_read_all_data"]


@dataclass(frozen=True, slots=True)
class Auditor:
    """A login and the tenant that it is shown. ``member``: it is in ``commitgate_auditor``, so it can look."""

    login: str
    tenant: str
    member: bool


def list_auditors(engine: Engine) -> list[Auditor]:
    """All of them, by login. Raises SchemaOutdated."""
    with engine.connect() as connection:
        check_newest(connection)
        rows = connection.execute(select(auditors).order_by(auditors.c.login)).all()
        return [Auditor(row.login, row.tenant, bool(_member(connection, row.login))) for row in rows]


def add_auditor(engine: Engine, login: str, tenant: str) -> Auditor:
    """Show ``tenant``, and from now on no other, to ``login``; and put it into ``commitgate_auditor`` where it is not.

    The second needs the right to grant that group (who made it has it); without it ``member`` stays false. Raises
    UnknownLogin, SchemaOutdated; UnfitAuditor where the login sees every tenant's rows anyway.
    """
    with engine.begin() as connection:
        check_newest(connection)
        member = _member(connection, login)
        if member is None:
            raise UnknownLogin(login)
        powers = connection.execute(_POWERS, {"login": login, "groups": _GROUPS}).scalars().all()
        if powers:
            raise UnfitAuditor(login, powers)
        statement = insert(auditors).values(login=login, tenant=tenant)
        connection.execute(statement.on_conflict_do_update(index_elements=["login"], set_={"tenant": tenant}))
        return Auditor(login, tenant, member or _grant(connection, login))


def remove_auditor(engine: Engine, login: str) -> None:
    """Show nothing to ``login`` any more; the role itself stays. Raises NotAnAuditor, SchemaOutdated."""
    with engine.begin() as connection:
        check_newest(connection)
        if not connection.execute(delete(auditors).where(auditors.c.login == login)).rowcount:
            raise NotAnAuditor(login)


def _member(connection: Connection, login: str) -> bool | None:
    """Whether the login is in the auditors' group; None where there is no such login."""
    return connection.execute(_MEMBER, {"login": login, "auditor": Duty.AUDITOR.role}).scalar_one_or_none()


def _grant(connection: Connection, login: str) -> bool:
    quoted = connection.execute(select(func.quote_ident(login))).scalar_one()
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(f"grant {Duty.AUDITOR.role} to {quoted}".replace("%", "%%"))
    except DBAPIError:
        return False
    return True
