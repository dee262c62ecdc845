-- Checkpoints are not truncated.
create trigger checkpoints_no_truncate before truncate on ledger.checkpoints
    for each statement execute function ledger.refuse_change();
alter table ledger.checkpoints enable always trigger checkpoints_no_truncate;
