"""Worlds to act on: small real systems that the demo and the tests drive through the gateway."""
