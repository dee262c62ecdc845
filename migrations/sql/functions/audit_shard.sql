-- The shard of a stream, as ledger.sharding makes it: first byte of the SHA-256 of both names, each behind its length.
create or replace function audit.shard(tenant text, commit_key text) returns smallint
language sql
immutable
parallel safe
return get_byte(sha256(
    int4send(octet_length(convert_to(tenant, 'UTF8'))) || convert_to(tenant, 'UTF8')
    || int4send(octet_length(convert_to(commit_key, 'UTF8'))) || convert_to(commit_key, 'UTF8')
), 0)::smallint;
comment on function audit.shard(text, text) is
    'Shard of the stream (tenant, commit key), 0 to 255: with "where shard = ..." a query looks into one shard alone.';
