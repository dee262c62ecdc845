-- Who belongs to which group: the group of the services holds every duty of a service, and whoever upgrades is a migrator.
-- What an administrator granted beforehand is found and left alone; then no right to grant is needed here.
do $$
declare
    membership record;
    granting text;
begin
    for membership in
        select duty, holder
        from unnest(array['commitgate_writer', 'commitgate_dispatcher', 'commitgate_sealer', 'commitgate_reconciler'])
            as duty, (select 'commitgate_service'::name) as services (holder)
        union all
        select 'commitgate_migrator', current_user
    loop
        continue when pg_catalog.pg_has_role(membership.holder, membership.duty, 'USAGE');
        granting := 'grant ' || quote_ident(membership.duty) || ' to ' || quote_ident(membership.holder);
        begin
            execute granting;
        exception
            when unique_violation then null;
            when insufficient_privilege then
                raise exception using
                    errcode = 'insufficient_privilege',
                    message = 'an administrator has to run first: ' || granting;
        end;
    end loop;
end
$$;
