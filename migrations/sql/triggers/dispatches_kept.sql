-- Licences are not deleted: a missing one would license a second send.
create trigger dispatches_kept before delete on ledger.dispatches
    for each row execute function ledger.refuse_change();
alter table ledger.dispatches enable always trigger dispatches_kept;
