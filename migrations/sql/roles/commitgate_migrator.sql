-- Group role that owns the schemas and everything in them; its members upgrade. No service is one.
-- Roles belong to the whole cluster, so another database may have made it, or be making it just now.
do $$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'commitgate_migrator') then
        create role commitgate_migrator nologin;
        comment on role commitgate_migrator is
            'Owns the ledger; its members upgrade it.';
    end if;
exception
    when duplicate_object or unique_violation then null;
end
$$;
