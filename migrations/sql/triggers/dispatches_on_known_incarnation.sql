-- Nothing that is no read is sent on a database that came back, before its unsettled calls were looked through.
create trigger dispatches_on_known_incarnation before insert on ledger.dispatches
    for each row execute function ledger.check_incarnation();
alter table ledger.dispatches enable always trigger dispatches_on_known_incarnation;
