"""Tools that are statements in the ledger's own database: the only kind that runs exactly once (design.md, "Dispatch").

A call that is no read is not sent at all: its statements run in the transaction that records its outcome
(``gateway.dispatcher.inside``), so a crash leaves both or neither. Reads, and probes, run by themselves and change nothing.
"""
