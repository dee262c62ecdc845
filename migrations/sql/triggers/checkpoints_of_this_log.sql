-- A checkpoint is one of this log and covers no more than is sealed.
create trigger checkpoints_of_this_log before insert on ledger.checkpoints
    for each row execute function ledger.check_checkpoint();
alter table ledger.checkpoints enable always trigger checkpoints_of_this_log;
