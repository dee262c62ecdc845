-- Functions of triggers run without a grant: nobody calls them.
revoke execute on function ledger.check_redaction(), ledger.forget_batches() from public;
