"""The part of the plain mode that the server keeps: functions that a plain engine lacks, taken from every login.

Reaches what no driver sees: statements inside functions and triggers. A superuser, which is what tests act as and no
part of the product may be, still has them.
"""

import psycopg

_REVOKE = """
do $$
declare
    taken regprocedure;
begin
    for taken in
        select p.oid from pg_catalog.pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace
            and p.proname ~ '^pg_(try_)?advisory_|^pg_notify$|^pg_listening_channels$'
    loop
        execute format('revoke execute on function %s from public', taken);
    end loop;
end
$$
"""


def take_away(admin_url: str) -> None:
    """In the database of ``admin_url`` (libpq, a superuser's) and every copy made of it later."""
    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute(_REVOKE)
