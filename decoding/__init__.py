"""Draft and verify: the call-block detector, acceptance rules, the loop and its drafters.

torch is imported under ``models`` only.
"""
