-- The log's row is not truncated.
create trigger log_no_truncate before truncate on ledger.log
    for each statement execute function ledger.refuse_change();
alter table ledger.log enable always trigger log_no_truncate;
