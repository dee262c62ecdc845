-- What may become of the log's row: its size grows, and sealing passes from one to another. Its name stays.
create or replace function ledger.check_log_growth() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if new.log_id <> old.log_id or new.size < old.size then
        raise exception using
            errcode = 'restrict_violation',
            message = 'the log keeps its name and only grows',
            constraint = tg_name,
            schema = tg_table_schema,
            table = tg_table_name;
    end if;
    return new;
end
$$;
comment on function ledger.check_log_growth() is 'Refuses to rename the log or to make it smaller.';
