-- The migrators' group owns what the migrations made, so that any of its members may run the next one. Last of every upgrade.
do $$
declare
    object text;
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'commitgate_migrator') then
        return;
    end if;
    for object in
        with ours as (
            select oid, nspname, nspowner from pg_catalog.pg_namespace where nspname in ('ledger', 'audit')
        ), migrator as (
            select oid from pg_catalog.pg_roles where rolname = 'commitgate_migrator'
        )
        select 'schema ' || quote_ident(ours.nspname), 1 as turn
        from ours, migrator where ours.nspowner <> migrator.oid
        union all
        select case c.relkind when 'v' then 'view ' when 'm' then 'materialized view ' when 'S' then 'sequence '
            else 'table ' end || quote_ident(ours.nspname) || '.' || quote_ident(c.relname), 2
        from pg_catalog.pg_class c join ours on c.relnamespace = ours.oid, migrator
        where c.relowner <> migrator.oid and c.relkind in ('r', 'p', 'v', 'm', 'S')
            -- A sequence of a column goes with its table.
            and not exists (select from pg_catalog.pg_depend d
                where d.classid = 'pg_catalog.pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i')
                    and c.relkind = 'S')
        union all
        select 'routine ' || p.oid::regprocedure, 3
        from pg_catalog.pg_proc p join ours on p.pronamespace = ours.oid, migrator
        where p.proowner <> migrator.oid
        order by 2
    loop
        execute 'alter ' || object || ' owner to commitgate_migrator';
    end loop;
end
$$;
