"""Who may do what with the ledger: the duties, the logins that services run under, and whose auditor a login is."""
