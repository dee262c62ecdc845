-- Group role of those that append: what a gateway without a dispatcher needs. It grants no licence to dispatch.
-- Roles belong to the whole cluster, so another database may have made it, or be making it just now.
do $$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'commitgate_writer') then
        create role commitgate_writer nologin;
        comment on role commitgate_writer is
            'Appends events and keeps their projections; grants no licence to dispatch.';
    end if;
exception
    when duplicate_object or unique_violation then null;
end
$$;
