"""The only SQL of the system: events, append, fold, projections, queries, reconciliation. No HTTP."""
