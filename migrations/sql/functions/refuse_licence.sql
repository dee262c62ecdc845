-- Refuses a licence to dispatch. The name of the check travels as the constraint's name, for programs to read.
create or replace function ledger.refuse_licence(check_name text, intent text, attempt integer, why text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using
        errcode = 'check_violation',
        message = 'dispatch of ' || intent || ' attempt ' || attempt || ' is refused: ' || why,
        constraint = check_name,
        schema = 'ledger',
        table = 'dispatches';
end
$$;
comment on function ledger.refuse_licence(text, text, integer, text) is 'Refuses a licence, naming the check that failed.';
