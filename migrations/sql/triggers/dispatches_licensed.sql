-- No dispatch without the events that license it.
create trigger dispatches_licensed before insert on ledger.dispatches
    for each row execute function ledger.check_licence();
alter table ledger.dispatches enable always trigger dispatches_licensed;
