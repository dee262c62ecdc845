-- Schema of the ledger: events, the projections made of them, and the licences to dispatch. Where it is there, upgrading
-- needs no right to create one.
do $$
begin
    if not exists (select from pg_catalog.pg_namespace where nspname = 'ledger') then
        create schema ledger;
    end if;
end
$$;
