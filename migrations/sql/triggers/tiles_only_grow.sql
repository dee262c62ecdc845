-- The tree only grows: a hash in a tile is never rewritten.
create trigger tiles_only_grow before update on ledger.tiles
    for each row execute function ledger.check_tile_growth();
alter table ledger.tiles enable always trigger tiles_only_grow;
