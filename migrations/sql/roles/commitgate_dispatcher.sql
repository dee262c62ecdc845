-- Group role of dispatchers: they append outcomes, grant licences to dispatch and move their leases on.
-- Roles belong to the whole cluster, so another database may have made it, or be making it just now.
do $$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'commitgate_dispatcher') then
        create role commitgate_dispatcher nologin;
        comment on role commitgate_dispatcher is
            'Appends outcomes, grants licences to dispatch and moves their leases.';
    end if;
exception
    when duplicate_object or unique_violation then null;
end
$$;
