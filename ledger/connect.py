"""Connections of the services: how they are made."""

import time
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from ledger.access.duty import SERVICE_DUTIES
from ledger.access.login import check_login
from ledger.server import HIDDEN
from ledger.url import database_url

LOCK_TIMEOUT = "10s"
IDLE_IN_TRANSACTION_TIMEOUT = "60s"
RESTED = 1.0
"""Seconds after which a pooled connection is asked whether it still lives, before it is used again."""

_LAST_USED = "commitgate.last_used"

# A dispatch row has to be durable before anything is sent, whatever the server's default is; remote_apply is
# more than is asked for and stays. The last parameter of set_config: for this transaction alone.
_SETTINGS = """
select
    set_config('synchronous_commit',
        case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end,
        {local}),
    set_config('lock_timeout', '{lock_timeout}', {local}),
    set_config('idle_in_transaction_session_timeout', '{idle_timeout}', {local})
"""


def connect(
    url: str, *, pgbouncer: bool = False, pool_size: int = 10, application_name: str = "commitgate"
) -> Engine:
    """A pool of connections to the ledger; none is opened yet.

    ``pgbouncer``: a pooler in transaction mode stands between. Then nothing is prepared and nothing is set
    for a session: settings are made inside each transaction. ``pool_size``: connections kept; as many again
    may be opened for a while. Every transaction commits with ``synchronous_commit`` on. Raises
    BadDatabaseUrl.
    """
    driver_arguments: dict[str, object] = {"application_name": application_name}
    if pgbouncer:
        driver_arguments["prepare_threshold"] = None
    engine = create_engine(
        database_url(url),
        pool_size=pool_size,
        max_overflow=pool_size,
        isolation_level="READ COMMITTED",
        connect_args=driver_arguments,
        # Errors are logged, and parameters hold what people send through.
        hide_parameters=True,
        execution_options={HIDDEN: pgbouncer},
    )
    event.listen(engine, "checkin", _note_time)
    event.listen(engine, "checkout", _ping_after_rest)
    if pgbouncer:
        event.listen(engine, "begin", _set_for_transaction)
    else:
        event.listen(engine, "connect", _set_for_session)
    return engine


def _note_time(_connection: object, record: ConnectionPoolEntry) -> None:
    record.info[_LAST_USED] = time.monotonic()


def _ping_after_rest(connection: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    """Ask a connection that rested whether it still lives. One in steady use need not be asked each time."""
    if time.monotonic() - record.info.get(_LAST_USED, time.monotonic()) < RESTED:
        return
    try:
        connection.execute("select 1")
        connection.rollback()
    except psycopg.Error as error:
        # The pool opens another one and tries again.
        raise DisconnectionError(str(error)) from error


def _settings(*, local: bool) -> str:
    return _SETTINGS.format(
        local=str(local).lower(), lock_timeout=LOCK_TIMEOUT, idle_timeout=IDLE_IN_TRANSACTION_TIMEOUT
    )


def _set_for_session(connection: Any, _record: object) -> None:
    connection.execute(_settings(local=False))
    connection.commit()


def _set_for_transaction(connection: Connection) -> None:
    connection.exec_driver_sql(_settings(local=True))


def check_service_login(engine: Engine) -> None:
    """``ledger.access.login.check_login`` for a process that does everything a service does; raises what it raises."""
    check_login(engine, SERVICE_DUTIES)
