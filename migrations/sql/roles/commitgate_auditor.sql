-- Group role of auditors: they read schema audit alone, and there the rows of their own tenant (ledger.auditors).
-- Roles belong to the whole cluster, so another database may have made it, or be making it just now.
do $$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'commitgate_auditor') then
        create role commitgate_auditor nologin;
        comment on role commitgate_auditor is
            'Reads the views of schema audit, each login those of its own tenant (ledger.auditors).';
    end if;
exception
    when duplicate_object or unique_violation then null;
end
$$;
