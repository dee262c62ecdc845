-- Places in the log are not truncated.
create trigger seals_no_truncate before truncate on ledger.seals
    for each statement execute function ledger.refuse_change();
alter table ledger.seals enable always trigger seals_no_truncate;
