"""How fast events go into the ledger, beside a plain COPY of the very rows that were written."""
