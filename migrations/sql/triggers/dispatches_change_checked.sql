-- A granted licence changes only in the ways that its life allows.
create trigger dispatches_change_checked before update on ledger.dispatches
    for each row execute function ledger.check_licence_change();
alter table ledger.dispatches enable always trigger dispatches_change_checked;
