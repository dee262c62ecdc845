-- Group role of the services. Their logins are members of it; it owns nothing and cannot log in itself.
-- Roles belong to the whole cluster, so another database may have made it, or be making it just now.
do $$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'commitgate_service') then
        create role commitgate_service nologin;
    end if;
exception
    when duplicate_object or unique_violation then null;
end
$$;
