"""Reconciliation: what was sent, what was accepted and what the tools saw, side by side under one commit key.

It works on the union of the dispatch log and the accepted stream, never on either alone (design.md, "Reconciliation";
tool-call-side-effects.md, "Condition of Validity"). ``run.run`` goes through a ledger, ``examine.examine`` judges one
stream and is pure. Nothing here writes to the ledger.
"""
