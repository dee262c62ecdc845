"""The log: every committed event of every stream at one place in one order, under one Merkle tree.

Sealing gives a committed event its log index; what is sealed is read in log order, proved, and signed for.
"""
