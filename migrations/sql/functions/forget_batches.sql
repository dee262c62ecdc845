-- Takes away the answers to batches of a stream from which a payload is redacted: they spell it too, and their digests
-- let it be guessed. The stream is over and takes no batch any more. It runs under the owner, so that no redactor needs
-- a right to anything but payload and salt.
create or replace function ledger.forget_batches() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    delete from ledger.batches b
    where b.shard = old.shard and b.tenant = old.tenant and b.commit_key = old.commit_key;
    return null;
end
$$;
comment on function ledger.forget_batches() is
    'Takes away the answers to batches of a stream from which a payload is redacted.';
