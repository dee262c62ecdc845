-- A row for each intent, also the voided ones, as its events leave it.
create view audit.intents with (security_barrier) as
select i.shard, i.commit_key, i.intent_id, i.branch, i.round, i.span_start, i.span_end, i.ordinal, i.byte_start, i.byte_end,
    i.block, i.tool, i.arguments_raw, i.arguments_digest, i.problem, i.call_id, i.effect, i.effect_version,
    i.footprint::text as footprint, i.state, i.reason, i.release, i.final, i.stale, i.attempts, i.idempotency_key,
    i.closed_seq, i.held_seq, c.accepted_seq, i.dispatch_seq, i.settled_seq, i.final_seq, i.retry_at, i.result_status,
    i.result_content::text as result_content, i.redacted
from ledger.audited_intents i
left join ledger.audited_calls c on c.shard = i.shard and c.tenant = i.tenant and c.commit_key = i.commit_key
    and c.intent_id = i.intent_id;
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
    'held, released, dispatched, settled, in_doubt, voided or refused.';
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
comment on column audit.intents.dispatch_seq is 'Seq of its last dispatch.started.';
comment on column audit.intents.settled_seq is 'Seq at which its last dispatch was settled.';
comment on column audit.intents.final_seq is 'Seq of its intent.final.';
comment on column audit.intents.retry_at is 'Not sent again before this.';
comment on column audit.intents.result_status is 'Status of the answer.';
comment on column audit.intents.result_content is 'The answer, as JSON, also while it is provisional or thrown away.';
comment on column audit.intents.redacted is 'An event about it is redacted: what that said is null here.';
