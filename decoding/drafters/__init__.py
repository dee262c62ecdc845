"""Drafters: what proposes tokens. The port is ``base``; drafters that need torch are under
``decoding.models``."""
