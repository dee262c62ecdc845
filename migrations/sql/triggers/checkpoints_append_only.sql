-- What was signed for is neither changed nor taken away.
create trigger checkpoints_append_only before update or delete on ledger.checkpoints
    for each row execute function ledger.refuse_change();
alter table ledger.checkpoints enable always trigger checkpoints_append_only;
