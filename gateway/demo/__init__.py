"""The demonstration: real models, a real shop, the gateway between them, and a ledger that proves what happened.

Every part runs as it would anywhere else: the shop and the gateway as processes, the decoding loop over HTTP.
"""
