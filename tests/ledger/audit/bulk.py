"""Many streams at once: a few generated ones, copied under other commit keys past every trigger, as only a superuser can."""

from datetime import timedelta
from random import Random

from sqlalchemy import Connection, text

from ledger.append import Ledger
from tests.ledger.audit.wandering import Wandering

_TABLES = ("events", "dispatches")
_COPY = """
insert into ledger.{table} ({columns})
select {values} from ledger.{table} original, generate_series(1, :copies) as copy (n)
where original.tenant = :tenant and original.commit_key like 'original-%'
"""


def originals(ledger: Ledger, tenant: str, count: int, steps: int) -> None:
    """``count`` generated streams, ``original-0`` and so on."""
    for number in range(count):
        turn = Wandering(ledger, tenant, f"original-{number}", Random(number), age=timedelta(hours=48))
        turn.wander(steps)


def multiply(connection: Connection, tenant: str, copies: int) -> int:
    """Copy every original ``copies`` times; the number of events of the tenant then."""
    for table in _TABLES:
        columns = connection.execute(
            text(
                "select array_agg(quote_ident(attname) order by attnum) from pg_attribute"
                f" where attrelid = 'ledger.{table}'::regclass and attnum > 0 and not attisdropped"
            )
        ).scalar_one()
        key = "replace(original.commit_key, 'original', 'copy-' || copy.n)"
        changed = {"commit_key": key, "shard": f"audit.shard(original.tenant, {key})"}
        values = ", ".join(changed.get(name, f"original.{name}") for name in columns)
        connection.execute(text(f"alter table ledger.{table} disable trigger user"))
        statement = _COPY.format(table=table, columns=", ".join(columns), values=values)
        connection.execute(text(statement), {"copies": copies, "tenant": tenant})
        connection.execute(text(f"alter table ledger.{table} enable trigger user"))
    connection.execute(text("analyze ledger.events, ledger.dispatches"))
    query = text("select count(*) from ledger.events where tenant = :tenant")
    return int(connection.execute(query, {"tenant": tenant}).scalar_one())
