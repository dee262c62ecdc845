-- Tiles are not deleted: proofs are made from them.
create trigger tiles_kept before delete on ledger.tiles
    for each row execute function ledger.refuse_change();
alter table ledger.tiles enable always trigger tiles_kept;
