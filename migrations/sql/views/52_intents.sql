-- A row for each intent, also the voided ones, as its events leave it.
create view audit.intents with (security_barrier) as
select c.shard, c.commit_key, c.intent_id, c.branch, c.round, c.span_start, c.span_end, c.ordinal, c.byte_start, c.byte_end,
    c.block, c.tool, c.arguments_raw, c.arguments_digest, c.problem, c.call_id, c.effect, c.effect_version,
    c.footprint::text as footprint, c.state, c.reason, c.release, c.final, c.stale, c.attempts, c.idempotency_key,
    c.closed_seq, c.held_seq, c.accepted_seq, c.dispatch_seq, c.settled_seq, c.final_seq, c.retry_at, c.result_status,
    c.result_content::text as result_content, c.adopted_from, c.redacted
from ledger.audited_calls c;
comment on view audit.intents is
    'A row for each intent: one tool call asked for by one block, also the voided ones, as its events leave it.';
comment on column audit.intents.shard is 'Hash of tenant and commit key, 0 to 255: audit.shard(tenant, commit_key).';
comment on column audit.intents.commit_key is 'Names one model message.';
comment on column audit.intents.intent_id is 'Opaque name of one tool call.';
comment on column audit.intents.branch is 'Branch of its block.';
comment on column audit.intents.round is 'Round of the block''s last token.';
comment on column audit.intents.span_start is 'First token of its block.';
comment on column audit.intents.span_end is 'One past the last token of its block.';
comment on column audit.intents.ordinal is 'Place among the calls of one block.';
comment on column audit.intents.byte_start is 'First byte of its block in the text of its branch.';
comment on column audit.intents.byte_end is 'One past the last byte of its block.';
comment on column audit.intents.block is 'undecided, cleared or voided, as the gateway recorded it.';
comment on column audit.intents.tool is 'Tool asked for; null where the block does not parse.';
comment on column audit.intents.arguments_raw is 'Arguments exactly as the tokens spell them.';
comment on column audit.intents.arguments_digest is 'Digest of the canonical arguments.';
comment on column audit.intents.problem is 'Why it can never be sent, where it does not parse.';
comment on column audit.intents.call_id is 'The provider''s name of the call: information, never identity.';
comment on column audit.intents.effect is 'Effect class under which it is decided: READ_ONLY, IDEMPOTENT or WRITE.';
comment on column audit.intents.effect_version is 'Version of the effect table that gave the class.';
comment on column audit.intents.footprint is 'Keys that it reads and writes, and its upstream, as JSON.';
comment on column audit.intents.state is
    'held, awaiting_approval, released, dispatched, settled, in_doubt, voided, refused or denied.';
comment on column audit.intents.reason is 'Why it stands there.';
comment on column audit.intents.release is 'early (on drafts) or committed (on accepted tokens); null while held.';
comment on column audit.intents.final is 'The answer may be given to the runtime; never reverts.';
comment on column audit.intents.stale is 'Its answer was overtaken and it waits to be sent again.';
comment on column audit.intents.attempts is 'Dispatches started.';
comment on column audit.intents.idempotency_key is 'Sent with every attempt that is not a read.';
comment on column audit.intents.closed_seq is 'Seq of the event that brought the block''s last token.';
comment on column audit.intents.held_seq is 'Seq of its intent.held.';
comment on column audit.intents.accepted_seq is
    'Seq of the event that accepted the last token of its block, worked out from token events alone; null where the block'
    ' is not accepted, or its stream cannot be read.';
comment on column audit.intents.dispatch_seq is
    'Seq of its last dispatch.started, or of the one whose answer it has adopted: its freshness counts from there.';
comment on column audit.intents.settled_seq is 'Seq at which that dispatch was settled.';
comment on column audit.intents.final_seq is 'Seq of its intent.final.';
comment on column audit.intents.retry_at is 'Not sent again before this.';
comment on column audit.intents.result_status is 'Status of the answer.';
comment on column audit.intents.result_content is 'The answer, as JSON, also while it is provisional or thrown away.';
comment on column audit.intents.adopted_from is
    'Intent whose answer it has taken for its own instead of being sent: a voided early read that asked the same. Null where'
    ' the answer is that of a dispatch of its own, or there is none.';
comment on column audit.intents.redacted is 'An event about it is redacted: what that said is null here.';
