-- A row for each ruling of the verifier.
create view audit.rulings with (security_barrier) as
select e.shard, e.commit_key, m.branch, m.round, e.seq, e.at, m.said_start as span_start, m.said_end as span_end,
    m.said_end - m.said_start as judged, m.stand as accepted, m.cut_at, m.head_before, m.head_after,
    case when m.own ->> 'id' ~ '^-?[0-9]{1,16}$' then (m.own ->> 'id')::bigint end as own_id,
    case when not m.redacted then m.own ->> 'text' end as own_text, m.own_added,
    e.body ->> 'ruling_id' as ruling_id, e.body ->> 'rule' as rule, e.body ->> 'mode' as mode,
    e.body ->> 'binding' as binding, e.body ->> 'window_digest' as window_digest,
    e.body ->> 'target_source' as target_source, e.body ->> 'params_digest' as params_digest,
    e.body ->> 'window' as drafts_asked, (e.body ->> 'draft_ms')::numeric as draft_ms,
    (e.body ->> 'verify_ms')::numeric as verify_ms, (e.body ->> 'min_margin')::numeric as min_margin,
    (e.body -> 'proposals')::text as proposals, case when not e.redacted then e.body::text end as payload, m.redacted
from ledger.audited_events e
join ledger.audited_moves m on m.shard = e.shard and m.tenant = e.tenant and m.commit_key = e.commit_key and m.seq = e.seq
where e.type = 'tokens.ruled';
comment on view audit.rulings is
    'A row for each ruling of the verifier (tokens.ruled), with what it says of itself and with the head and the cut that'
    ' follow from it.';
comment on column audit.rulings.shard is 'Hash of tenant and commit key, 0 to 255: audit.shard(tenant, commit_key).';
comment on column audit.rulings.commit_key is 'Names one model message.';
comment on column audit.rulings.branch is 'Token lane.';
comment on column audit.rulings.round is 'Rejections in the branch before it.';
comment on column audit.rulings.seq is 'Place of the ruling in its stream.';
comment on column audit.rulings.at is 'When it was written; for people, never for order.';
comment on column audit.rulings.span_start is 'First judged position; null once redacted.';
comment on column audit.rulings.span_end is 'One past the last judged position; null once redacted.';
comment on column audit.rulings.judged is 'Number of drafts that were judged; null once redacted.';
comment on column audit.rulings.accepted is 'Number of judged drafts that stand; null once redacted.';
comment on column audit.rulings.cut_at is 'First position that it rejects; null where it rejects nothing.';
comment on column audit.rulings.head_before is 'Accepted tokens of the branch before it.';
comment on column audit.rulings.head_after is 'Accepted tokens of the branch after it.';
comment on column audit.rulings.own_id is 'Id of the target''s own token, where given.';
comment on column audit.rulings.own_text is 'Text of the target''s own token, where given.';
comment on column audit.rulings.own_added is
    'Whether the target''s own token is appended; false where there is none or where it equals the draft in its place.';
comment on column audit.rulings.ruling_id is 'The writer''s own name of the ruling.';
comment on column audit.rulings.rule is 'Acceptance rule: match or ratio, where given.';
comment on column audit.rulings.mode is 'How several drafters were verified, where given.';
comment on column audit.rulings.binding is 'Binding that the ruling names, where given.';
comment on column audit.rulings.window_digest is 'Digest of the judged window, where given.';
comment on column audit.rulings.target_source is 'Where the target''s own token comes from: match, residual or bonus.';
comment on column audit.rulings.params_digest is 'Digest of the sampling parameters, where given.';
comment on column audit.rulings.drafts_asked is 'Window that the decoder asked for, where given.';
comment on column audit.rulings.draft_ms is 'Milliseconds spent on drafting, where given.';
comment on column audit.rulings.verify_ms is 'Milliseconds spent on verifying, where given.';
comment on column audit.rulings.min_margin is 'Smallest margin of a choice in the window, where given.';
comment on column audit.rulings.proposals is 'Candidates of every drafter, as JSON, where given.';
comment on column audit.rulings.payload is 'The event''s whole payload, as JSON; null once redacted.';
comment on column audit.rulings.redacted is 'Its payload is gone: what is shown is what remains of it.';
