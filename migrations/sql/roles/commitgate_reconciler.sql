-- Group role of those that compare: they read everything that was recorded, and change nothing.
-- Roles belong to the whole cluster, so another database may have made it, or be making it just now.
do $$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'commitgate_reconciler') then
        create role commitgate_reconciler nologin;
        comment on role commitgate_reconciler is
            'Reads what was recorded; changes nothing.';
    end if;
exception
    when duplicate_object or unique_violation then null;
end
$$;
