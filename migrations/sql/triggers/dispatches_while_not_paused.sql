-- Nothing is sent of a tool that an operator paused.
create trigger dispatches_while_not_paused before insert on ledger.dispatches
    for each row execute function ledger.check_pause();
alter table ledger.dispatches enable always trigger dispatches_while_not_paused;
