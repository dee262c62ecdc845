-- The canonical (RFC 8785) text of an event without its payload: what a leaf of the log's tree is the hash of. All keys
-- are always there, in the order of their names; a redaction changes nothing of it. to_json spells a text as RFC 8785
-- does: only the quotation mark, the backslash and U+0000 to U+001F are escaped, five of those by their short forms.
-- One expression of columns, so that it is inlined and the payload is never fetched for it.
create or replace function ledger.envelope(event ledger.events) returns text
language sql
stable
parallel safe
return
    '{"at":"' || to_char(event.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    || '","attempt":' || coalesce(event.attempt::text, 'null')
    || ',"branch":' || coalesce(to_json(event.branch)::text, 'null')
    || ',"commit_key":' || to_json(event.commit_key)::text
    || ',"cut_at":' || coalesce(event.cut_at::text, 'null')
    || ',"head_after":' || coalesce(event.head_after::text, 'null')
    || ',"intent_id":' || coalesce(to_json(event.intent_id)::text, 'null')
    || ',"payload_digest":"' || encode(event.payload_digest, 'hex')
    || '","seq":' || event.seq::text
    || ',"tenant":' || to_json(event.tenant)::text
    || ',"type":' || to_json(event.type)::text
    || '}';
comment on function ledger.envelope(ledger.events) is
    'Canonical JSON (RFC 8785) of an event without its payload; its leaf in the log is SHA-256 of a zero byte and this.';
