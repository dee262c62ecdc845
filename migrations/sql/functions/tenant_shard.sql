-- The shard of rows that belong to a tenant and to no stream, as ledger.sharding makes it.
create or replace function ledger.tenant_shard(tenant text) returns smallint
language sql
immutable
parallel safe
return get_byte(sha256(int4send(octet_length(convert_to(tenant, 'UTF8'))) || convert_to(tenant, 'UTF8')), 0)::smallint;
comment on function ledger.tenant_shard(text) is 'Shard of rows that belong to a tenant and to no stream, 0 to 255.';
