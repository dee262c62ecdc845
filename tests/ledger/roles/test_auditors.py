"""Which tenant a login is shown: it follows from who logged in, and from nothing that a login can set or write."""

import json
from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest
from psycopg import errors, sql
from sqlalchemy import make_url

from gateway.cli import main
from ledger.access.auditors import Auditor, add_auditor, list_auditors, remove_auditor
from ledger.access.duty import Duty
from ledger.connect import connect
from ledger.errors import NotAnAuditor, SchemaOutdated, UnknownLogin
from tests.ledger.roles.logins import Login, login, refused
from tests.postgres import libpq


@pytest.fixture
def auditor(module_database) -> Iterator[Login]:
    with login(module_database) as made:
        yield made


@pytest.fixture
def another(module_database) -> Iterator[Login]:
    with login(module_database) as made:
        yield made


@pytest.fixture
def shown(module_database) -> Iterator[None]:
    """A view as those of schema audit are, over a row for each tenant: its owner's rights, the session's tenant."""
    with psycopg.connect(libpq(module_database.owner_url), autocommit=True) as owner:
        owner.execute(
            "create view audit.shown with (security_barrier) as"
            " select tenant from (values ('acme'), ('bolt'), ('crane')) rows (tenant)"
            " where tenant = (select a.tenant from ledger.auditors a where a.login = session_user)"
        )
        owner.execute("grant select on audit.shown to commitgate_auditor")
        yield
        owner.execute("drop view audit.shown")
        owner.execute("delete from ledger.auditors")


NO = (
    errors.InsufficientPrivilege,
    errors.FeatureNotSupported,
    errors.ObjectNotInPrerequisiteState,
    errors.SyntaxError,
)
SEEN = "select tenant from audit.shown"


def test_an_auditor_is_added_moved_and_removed(owner, auditor):
    assert add_auditor(owner, auditor.name, "acme") == Auditor(auditor.name, "acme", member=True)
    assert list_auditors(owner) == [Auditor(auditor.name, "acme", member=True)]
    add_auditor(owner, auditor.name, "bolt")
    assert list_auditors(owner) == [Auditor(auditor.name, "bolt", member=True)]
    remove_auditor(owner, auditor.name)
    assert list_auditors(owner) == []
    with pytest.raises(NotAnAuditor):
        remove_auditor(owner, auditor.name)
    with pytest.raises(UnknownLogin):
        add_auditor(owner, "nobody-of-this-name", "acme")


@pytest.mark.usefixtures("shown")
def test_each_sees_its_own_tenant_and_nobody_else_any(owner, auditor, another, module_database):
    add_auditor(owner, auditor.name, "acme")
    add_auditor(owner, another.name, "bolt")
    assert auditor.run(SEEN) == [("acme",)]
    assert another.run(SEEN) == [("bolt",)]
    add_auditor(owner, auditor.name, "crane")
    assert auditor.run(SEEN) == [("crane",)]
    remove_auditor(owner, auditor.name)
    assert auditor.run(SEEN) == []
    with login(module_database, Duty.AUDITOR.role) as unmapped:
        assert unmapped.run(SEEN) == []
    with login(module_database) as stranger, pytest.raises(errors.InsufficientPrivilege):
        stranger.run(SEEN)


@pytest.mark.usefixtures("shown")
def test_no_setting_and_no_trick_shows_another_tenant(owner, auditor, another):
    """Each of these tries to be the other one; what is seen stays, or the statement is refused."""
    add_auditor(owner, auditor.name, "acme")
    add_auditor(owner, another.name, "bolt")
    other = another.name
    tricks = [
        "set role commitgate_auditor",
        f"set role {other}",
        f"set session authorization {other}",
        f"set session_authorization = '{other}'",
        f"select set_config('session_authorization', '{other}', false)",
        f"set application_name = '{other}'",
        "set search_path = pg_temp, audit, ledger",
        "select set_config('commitgate.tenant', 'bolt', false)",
        "set row_security = off",
        "create temp table auditors as select session_user::text as login, 'bolt' as tenant",
        f"create function pg_temp.session_user() returns name language sql as $$ select '{other}'::name $$",
        f"alter role {auditor.name} rename to {other}x",
        f"alter role {auditor.name} set role = '{other}'",
        f"grant {other} to {auditor.name}",
        f"insert into ledger.auditors values ('{auditor.name}', 'bolt')",
        f"update ledger.auditors set tenant = 'bolt' where login = '{auditor.name}'",
        "insert into audit.shown values ('bolt')",
        "create or replace view audit.shown as select 'bolt'::text as tenant",
        "create view audit.mine as select * from ledger.auditors",
    ]
    for trick in tricks:
        with auditor.connection() as connection:
            with suppress(*NO):
                connection.execute(trick)
            assert connection.execute(SEEN).fetchall() == [("acme",)], trick
    assert another.run(SEEN) == [("bolt",)]


@pytest.mark.usefixtures("shown")
def test_a_condition_of_ones_own_is_not_asked_about_other_rows(owner, auditor):
    """A cheap function in the condition would see every row before the tenant is looked at, were there no barrier."""
    add_auditor(owner, auditor.name, "acme")
    with auditor.connection() as connection:
        connection.execute(
            "create function pg_temp.tell(text) returns boolean language plpgsql cost 0.0000001"
            " as $$ begin raise notice '%', $1; return true; end $$"
        )
        told: list[str] = []
        connection.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
        assert connection.execute(f"{SEEN} where pg_temp.tell(tenant)").fetchall() == [("acme",)]
        assert told == ["acme"]


@pytest.mark.parametrize("setting", ["role", "session_authorization"])
def test_an_owner_that_becomes_another_would_be_shown_its_own(setting, owner, auditor):
    """The negative control: who may become another session user is shown what that one is, so no login may."""
    add_auditor(owner, auditor.name, "acme")
    with psycopg.connect(libpq(auditor.admin_url), autocommit=True) as admin:
        admin.execute(sql.SQL("set {} = {}").format(sql.Identifier(setting), sql.Literal(auditor.name)))
        seen = admin.execute("select session_user = %s", (auditor.name,)).fetchone()
    assert seen == (setting == "session_authorization",)
    remove_auditor(owner, auditor.name)


def test_the_mapping_takes_names_only(owner, auditor):
    for row in ("('', 'acme')", f"('{auditor.name}', '')", f"('{'x' * 64}', 'acme')", "(null, 'acme')"):
        with owner.connect() as connection, pytest.raises(Exception, match="auditors"):
            connection.exec_driver_sql(f"insert into ledger.auditors (login, tenant) values {row}")


def test_a_name_with_quotes_is_one_name(module_database, owner):
    name = 'au"di%tor; drop table x'
    with psycopg.connect(libpq(module_database.admin_url), autocommit=True) as admin:
        admin.execute(sql.SQL("create role {} login").format(sql.Identifier(name)))
        try:
            assert add_auditor(owner, name, "acme").member
            remove_auditor(owner, name)
        finally:
            admin.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


def test_who_may_not_grant_the_group_still_maps(module_database, auditor):
    """Managed databases: an administrator made the groups, and has to put the login in."""
    with login(module_database, Duty.MIGRATOR.role) as migrator, migrator.engine() as engine:
        assert add_auditor(engine, auditor.name, "acme") == Auditor(auditor.name, "acme", member=False)
        remove_auditor(engine, auditor.name)


@pytest.mark.parametrize("duty", [duty for duty in Duty if duty is not Duty.MIGRATOR])
def test_nobody_else_maps(module_database, auditor, duty):
    with login(module_database, duty.role) as one, one.connection() as connection:
        for statement in (
            f"insert into ledger.auditors values ('{one.name}', 'acme')",
            "select * from ledger.auditors",
        ):
            assert isinstance(refused(connection, statement), errors.InsufficientPrivilege)


def test_an_old_schema_is_told(empty_database, auditor):
    engine = connect(empty_database.owner_url)
    with pytest.raises(SchemaOutdated):
        list_auditors(engine)
    engine.dispose()


@pytest.fixture
def commitgate(monkeypatch, capsys, tmp_path):
    """Runs one command under a login: its exit code, what it wrote, what it said."""

    def run(url: str, *arguments: str) -> tuple[object, str, str]:
        monkeypatch.setenv("COMMITGATE_MIGRATION_DATABASE_URL", url)
        monkeypatch.setenv("COMMITGATE_HOME", str(tmp_path / "home"))
        monkeypatch.setattr("sys.argv", ["commitgate", "db", "auditors", *arguments])
        with pytest.raises(SystemExit) as ended:
            main.run()
        told = capsys.readouterr()
        return ended.value.code, told.out, told.err

    return run


def test_the_command_line(database, commitgate):
    with login(database) as one:
        assert commitgate(database.owner_url, "list") == (0, "", "")
        code, out, said = commitgate(database.owner_url, "add", one.name, "--tenant", "acme")
        assert (code, out, said) == (0, "", f"{one.name} is shown tenant acme\n")
        _, out, _ = commitgate(database.owner_url, "list")
        assert json.loads(out) == {"login": one.name, "tenant": "acme", "member": True}
        assert commitgate(database.owner_url, "remove", one.name)[0] == 0
        for arguments, code, told in (
            (("remove", one.name), 2, "not_an_auditor"),
            (("add", "nobody-here", "--tenant", "acme"), 2, "unknown_login"),
            (("add", one.name), 2, "bad_usage"),
            (("add", one.name, "--tenant", ""), 2, "bad_usage"),
        ):
            assert (ended := commitgate(database.owner_url, *arguments))[0] == code
            assert ended[2].startswith(f"error: {told}: ")
        code, _, said = commitgate(database.service_url, "add", one.name, "--tenant", "acme")
        assert code == 1
        assert said.startswith("error: database_error: permission denied for table auditors")


def test_who_cannot_grant_is_told_what_to_ask_for(database, commitgate):
    with login(database) as one, login(database, Duty.MIGRATOR.role) as migrator:
        code, _, said = commitgate(migrator.url, "add", one.name, "--tenant", "acme")
        assert code == 0
        assert f"GRANT commitgate_auditor TO {one.name}" in said


def test_a_login_that_sees_every_tenant_anyway_was_taken_as_an_auditor(database, commitgate):
    """Services, superusers and owners read the tables themselves: shown one tenant, they saw all of them."""
    admin = make_url(database.admin_url).username
    owner = make_url(database.owner_url).username
    with (
        login(database, Duty.WRITER.role) as writer,
        login(database, "commitgate_service") as service,
        login(database, "pg_read_all_data") as reader,
        login(database) as fit,
    ):
        for name in (admin, owner, writer.name, service.name, reader.name):
            code, _, said = commitgate(database.admin_url, "add", name, "--tenant", "acme")
            assert (code, said.startswith("error: unfit_auditor: "), name in said) == (2, True, True)
        assert commitgate(database.admin_url, "add", fit.name, "--tenant", "acme")[0] == 0
        assert commitgate(database.admin_url, "add", fit.name, "--tenant", "other")[0] == 0
        _, out, _ = commitgate(database.admin_url, "list")
        assert [json.loads(line)["login"] for line in out.splitlines()] == [fit.name]
