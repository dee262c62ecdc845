-- Who reads or writes the ledger's tables may look into the schema; auditors may not, and nobody but migrators creates.
revoke all on schema ledger from public;
grant usage on schema ledger
    to commitgate_writer, commitgate_dispatcher, commitgate_sealer, commitgate_reconciler, commitgate_redactor;
