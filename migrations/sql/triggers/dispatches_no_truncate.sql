-- Licences are not truncated: a missing one would license a second send.
create trigger dispatches_no_truncate before truncate on ledger.dispatches
    for each statement execute function ledger.refuse_change();
alter table ledger.dispatches enable always trigger dispatches_no_truncate;
