-- The log keeps its name and never gets smaller.
create trigger log_only_grows before update on ledger.log
    for each row execute function ledger.check_log_growth();
alter table ledger.log enable always trigger log_only_grows;
