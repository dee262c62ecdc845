-- A place in the log, once given, is neither changed nor taken away.
create trigger seals_append_only before update or delete on ledger.seals
    for each row execute function ledger.refuse_change();
alter table ledger.seals enable always trigger seals_append_only;
