-- Tiles are not truncated: proofs are made from them.
create trigger tiles_no_truncate before truncate on ledger.tiles
    for each statement execute function ledger.refuse_change();
alter table ledger.tiles enable always trigger tiles_no_truncate;
