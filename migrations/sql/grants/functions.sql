-- Functions of triggers run without a grant. What they call in turn, and what sealing calls, is granted to who needs it.
revoke execute on all functions in schema ledger from public;
grant execute on function ledger.effect_rank(text) to commitgate_dispatcher;
grant execute on function ledger.refuse_licence(text, text, integer, text) to commitgate_dispatcher;
grant execute on function ledger.envelope(ledger.events) to commitgate_sealer, commitgate_reconciler;
