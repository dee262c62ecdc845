"""Redaction: what one intent asked for and was answered is taken away, and every proof stays valid.

Two steps. ``recording`` appends a ``payload.redacted``: it names the events whose payloads go, and says what remains of
each, so that the fold gives the same state with and without them (``plan``, ``remains``, ``blanking``). ``purging`` then
takes the payloads and salts of exactly these away, under a login that can do nothing else. Leaves of the log are hashes of
envelopes, which hold the payloads' salted digests: nothing of it moves.
"""
