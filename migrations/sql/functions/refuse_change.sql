-- Trigger function that refuses whatever statement fires it: what is recorded is not changed or taken away.
create or replace function ledger.refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using
        errcode = 'restrict_violation',
        message = tg_op || ' on ' || tg_table_schema || '.' || tg_table_name || ' is refused: it is append-only',
        constraint = tg_name,
        schema = tg_table_schema,
        table = tg_table_name;
end
$$;
comment on function ledger.refuse_change() is 'Refuses the statement that fires it.';
