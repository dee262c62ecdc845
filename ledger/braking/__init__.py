"""What holds sending back over all dispatchers of a ledger: pauses at an operator's word, and the limits of tools.

Rows here belong to a tenant and to no stream; they are no projections, and a rebuild never touches them.
"""
