"""Trains the shop's models: a target, a drafter and a weak drafter, from transcripts that it makes.

``python -m examples.shop.training --out DIR``. Same seed, machine and thread count: the same bytes.
"""
