-- Group role of those that redact: they take payload and salt from events, and nothing else.
-- Roles belong to the whole cluster, so another database may have made it, or be making it just now.
do $$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'commitgate_redactor') then
        create role commitgate_redactor nologin;
        comment on role commitgate_redactor is
            'Nulls payload and salt of events, and nothing else.';
    end if;
exception
    when duplicate_object or unique_violation then null;
end
$$;
