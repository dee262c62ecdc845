-- Which incarnation of the database this is: system identifier, timeline, database. A promoted standby and a recovered
-- backup write on another timeline, from their first record on; the control file learns of it at a checkpoint only, so
-- the write-ahead log is asked. A dump restored elsewhere has another system identifier or is another database. Where
-- the login may not read the system identifier, timeline and database have to do. Raises on a standby.
create or replace function ledger.incarnation() returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
    system text := 'unknown';
begin
    if has_function_privilege('pg_control_system()', 'execute') then
        select system_identifier::text into system from pg_control_system();
    end if;
    return system || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '/'
        || (select oid from pg_database where datname = current_database());
end
$$;
comment on function ledger.incarnation() is
    'System identifier, timeline and database: what a restore, a failover or a copy changes.';
