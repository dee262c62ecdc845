"""What proves, without the database, what the log held: tree, tiles, checkpoints, exports and their verifier.

Everything here works on bytes and numbers that it is given; only the log's signing key is secret. Hashing and
proofs follow RFC 9162 section 2, formats follow C2SP (signed-note, tlog-checkpoint, tlog-tiles).
"""
