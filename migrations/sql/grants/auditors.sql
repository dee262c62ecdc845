-- Which tenant an auditor sees is the migrators' to say; nobody else reads it, and no auditor can change it.
revoke all on ledger.auditors from public;
