"""The services' connections: durable commits whatever the server says, safe behind pgbouncer, no dangerous login."""

from dataclasses import dataclass
from secrets import token_hex

import pytest
from sqlalchemy import Engine, make_url, text

from ledger.connect import check_service_login, connect
from ledger.errors import BadDatabaseUrl, MissingPrivileges, SchemaOutdated, UnsafeLogin
from ledger.migrate import head
from ledger.url import database_url
from tests.postgres import PASSWORD


@pytest.fixture
def make(request):
    """Makes engines that are closed at the end."""
    made: list[Engine] = []

    def engine(url: str, **options) -> Engine:
        made.append(connect(url, **options))
        return made[-1]

    yield engine
    for one in made:
        one.dispose()


@pytest.fixture
def weak(module_database, make):
    """A database whose default is to commit without waiting for the disk."""
    with make(module_database.admin_url).begin() as connection:
        name = module_database.name
        connection.execute(text(f'alter database "{name}" set synchronous_commit = off'))
    yield module_database
    with make(module_database.admin_url).begin() as connection:
        connection.execute(text(f'alter database "{name}" reset synchronous_commit'))


@dataclass(frozen=True)
class OwnLogin:
    """A services' login that one test may change."""

    name: str
    url: str
    admin: Engine

    def run(self, statements: str) -> None:
        with self.admin.begin() as connection:
            for statement in statements.split(";"):
                connection.execute(text(statement))


@pytest.fixture
def own_login(module_database, make):
    name = f"commitgate_test_{token_hex(6)}"
    url = make_url(module_database.service_url).set(username=name).render_as_string(hide_password=False)
    login = OwnLogin(name, url, make(module_database.admin_url))
    login.run(f"create role {name} login password '{PASSWORD}'; grant commitgate_service to {name}")
    yield login
    login.run(f"drop owned by {name}; drop role {name}")


def setting(connection, name: str) -> str:
    return connection.execute(text(f"show {name}")).scalar_one()


@pytest.mark.parametrize("pgbouncer", [False, True])
def test_commits_are_durable_whatever_the_default(weak, make, pgbouncer):
    engine = make(weak.service_url, pgbouncer=pgbouncer)
    for _ in range(2):
        with engine.connect() as connection:
            assert setting(connection, "synchronous_commit") == "on"
            assert setting(connection, "lock_timeout") == "10s"
            assert setting(connection, "idle_in_transaction_session_timeout") == "1min"


def test_more_than_durable_stays(module_database, make):
    url = make_url(module_database.service_url)
    url = url.update_query_dict({"options": "-csynchronous_commit=remote_apply"})
    engine = make(url.render_as_string(hide_password=False))
    with engine.connect() as connection:
        assert setting(connection, "synchronous_commit") == "remote_apply"


def test_behind_pgbouncer_nothing_outlives_a_transaction(weak, make):
    """What one client leaves in a pooled session another client would find."""
    with make(weak.service_url, pgbouncer=True).connect() as connection:
        driver = connection.connection.driver_connection
        assert driver.prepare_threshold is None
        assert "-c" not in (driver.info.get_parameters().get("options") or "")
        connection.rollback()
        assert driver.execute("show synchronous_commit").fetchone() == ("off",)
        driver.rollback()
        for _ in range(10):
            connection.execute(text("select 1"))
        prepared = driver.execute("select count(*) from pg_prepared_statements").fetchone()
        assert prepared == (0,)


def test_without_pgbouncer_statements_are_prepared(module_database, make):
    """The negative control of the test above."""
    with make(module_database.service_url).connect() as connection:
        driver = connection.connection.driver_connection
        for _ in range(10):
            driver.execute("select 1")
        assert driver.execute("select count(*) > 0 from pg_prepared_statements").fetchone() == (True,)


def test_connections_say_whose_they_are(module_database, make):
    with make(module_database.service_url, application_name="commitgate-worker").connect() as connection:
        assert setting(connection, "application_name") == "commitgate-worker"


@pytest.mark.parametrize("url", ["postgres://u@h/d", "postgresql://u@h/d", "postgresql+psycopg://u@h/d"])
def test_urls_mean_psycopg(url):
    assert database_url(url).drivername == "postgresql+psycopg"


@pytest.mark.parametrize(
    "url", ["", "nonsense", "mysql://u@h/d", "postgresql+asyncpg://u:secret@h/d", "sqlite://"]
)
def test_other_urls_are_refused_without_repeating_a_password(url):
    with pytest.raises(BadDatabaseUrl) as caught:
        connect(url)
    assert "secret" not in str(caught.value)


def test_the_services_login_is_safe(module_database, make):
    check_service_login(make(module_database.service_url))


def test_owner_and_superuser_are_not(module_database, make):
    with pytest.raises(UnsafeLogin, match="owns the ledger") as caught:
        check_service_login(make(module_database.owner_url))
    assert caught.value.code == "unsafe_database_login"
    with pytest.raises(UnsafeLogin, match="is a superuser"):
        check_service_login(make(module_database.admin_url))


@pytest.mark.parametrize(
    ("power", "reason"),
    [
        ("grant update on ledger.events to {}", "change or remove events"),
        ("grant update (payload) on ledger.events to {}", "change or remove events"),
        ("grant delete on ledger.events to {}", "change or remove events"),
        ("grant truncate on ledger.events to {}", "change or remove events"),
        ("grant trigger on ledger.events to {}", "change or remove events"),
        ("grant delete on ledger.dispatches to {}", "remove dispatches"),
        ("grant create on schema ledger to {}", "create objects"),
        ("alter role {} createrole", "create roles"),
        ("alter role {} bypassrls", "row level security"),
        ("grant commitgate_test_owner to {}", "owns the ledger"),
        ("alter role {} noinherit; grant commitgate_test_owner to {}", "owns the ledger"),
        ("grant pg_write_all_data to {}", "change or remove events"),
    ],
)
def test_any_power_over_what_is_recorded_is_refused(module_database, make, own_login, power, reason):
    check_service_login(make(own_login.url))
    own_login.run(power.replace("{}", own_login.name))
    with pytest.raises(UnsafeLogin, match=reason):
        check_service_login(make(own_login.url))


def test_a_login_without_the_role_is_told_so(make, own_login):
    own_login.run(f"revoke commitgate_service from {own_login.name}")
    with pytest.raises(MissingPrivileges, match="commitgate_service"):
        check_service_login(make(own_login.url))


def test_an_empty_database_is_outdated(empty_database, make):
    with pytest.raises(SchemaOutdated, match="db upgrade") as caught:
        check_service_login(make(empty_database.service_url))
    assert (caught.value.current, caught.value.head) == (None, head())


def test_another_revision_is_outdated(database, make):
    with make(database.owner_url).begin() as connection:
        connection.execute(text("update ledger.alembic_version set version_num = '0000'"))
    with pytest.raises(SchemaOutdated) as caught:
        check_service_login(make(database.service_url))
    assert caught.value.current == "0000"
