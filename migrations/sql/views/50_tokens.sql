-- A row for each token that was drafted or accepted, with the verdict on it.
create view audit.tokens with (security_barrier) as
select t.shard, t.commit_key, t.branch, t.round, t.position, t.id, t.text, t.drafted, t.drafter, t.verdict, t.seq,
    t.decided_seq, t.redacted
from ledger.audited_tokens t;
comment on view audit.tokens is
    'A row for each token that was drafted or accepted, worked out from token events. A draft is named by branch, round and'
    ' position, an accepted token by branch and position.';
comment on column audit.tokens.shard is 'Hash of tenant and commit key, 0 to 255: audit.shard(tenant, commit_key).';
comment on column audit.tokens.commit_key is 'Names one model message.';
comment on column audit.tokens.branch is 'Token lane.';
comment on column audit.tokens.round is 'Rejections in the branch before the token was brought.';
comment on column audit.tokens.position is 'Place in the branch, from 0. Null for a redacted event of drafts: one row for all of them.';
comment on column audit.tokens.id is 'Token id, where the writer gave one.';
comment on column audit.tokens.text is 'What it spells; a NUL is shown as U+001A. Null once redacted.';
comment on column audit.tokens.drafted is
    'Whether it was a draft: false for the target''s own tokens and for plain decoding. Null where redaction took the answer.';
comment on column audit.tokens.drafter is 'Who drafted it, where the writer said.';
comment on column audit.tokens.verdict is
    'accepted, rejected (the verifier cut at or before it), voided (another writer took over), or pending: nobody has ruled on'
    ' it, and where its stream is over nobody will. Null for a redacted event of drafts.';
comment on column audit.tokens.seq is 'Seq of the event that brought it. Null where that event is redacted.';
comment on column audit.tokens.decided_seq is 'Seq of the event that decided it; null while pending.';
comment on column audit.tokens.redacted is 'What it was cannot be read any more.';
