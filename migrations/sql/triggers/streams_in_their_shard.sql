-- Fires where a stream begins or is renamed, not where it moves: an append pays nothing for it.
create trigger streams_in_their_shard before insert or update of shard, tenant, commit_key on ledger.streams
    for each row execute function ledger.check_stream_shard();
alter table ledger.streams enable always trigger streams_in_their_shard;
