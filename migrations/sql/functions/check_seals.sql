-- Which places may be given: what is sealed begins where the seals before it end, leaves no gap, and ends where the log now does.
-- A place beyond the log's end would count as sealed, and no reader of the log would ever come by it.
create or replace function ledger.check_seals() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    begins bigint;
begin
    select min(first_index) into begins from added;
    if begins is null then
        return null;
    end if;
    if exists (
        select from (
            select a.first_index, lead(a.first_index, 1, (select l.size from ledger.log l)) over (order by a.first_index) as next,
                a.last_seq - a.first_seq + 1 as number
            from added a
        ) placed
        where placed.next is distinct from placed.first_index + placed.number
    ) or begins <> coalesce((
        select s.first_index + s.last_seq - s.first_seq + 1 from ledger.seals s
        where s.first_index < begins order by s.first_index desc limit 1
    ), 0) then
        raise exception using
            errcode = 'restrict_violation',
            message = 'what is sealed follows what is sealed already, and ends where the log does',
            constraint = tg_name,
            schema = tg_table_schema,
            table = tg_table_name;
    end if;
    return null;
end
$$;
comment on function ledger.check_seals() is 'Refuses seals that leave a gap in the log, overlap others or lie beyond its end.';
