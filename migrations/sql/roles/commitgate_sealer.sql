-- Group role of those that give events their places in the log and sign checkpoints.
-- Roles belong to the whole cluster, so another database may have made it, or be making it just now.
do $$
begin
    if not exists (select from pg_catalog.pg_roles where rolname = 'commitgate_sealer') then
        create role commitgate_sealer nologin;
        comment on role commitgate_sealer is
            'Seals events into the log; reads events and changes none.';
    end if;
exception
    when duplicate_object or unique_violation then null;
end
$$;
