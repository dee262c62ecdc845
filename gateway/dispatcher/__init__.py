"""Sends what was let go: claims under leases, sends, records one outcome, and leaves nothing silently lost."""
