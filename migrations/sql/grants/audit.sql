-- Auditors look at the views of schema audit and at nothing else; what the views read stays out of their reach.
revoke all on schema audit from public;
revoke execute on all functions in schema audit from public;
grant usage on schema audit to commitgate_auditor;
-- What a view calls is called by who asks it; without usage of the schema nothing in it can be named.
grant execute on function audit.shard(text, text), ledger.told_payload(text) to commitgate_auditor;
grant select on audit.tokens, audit.rulings, audit.intents, audit.dispatches, audit.timeline, audit.dispatched_vs_accepted,
    audit.early_reads, audit.doubts, audit.bindings, audit.effect_history to commitgate_auditor;
