"""Benches: every figure is a ratio against a floor or a peer in the same run."""
