"""``commitgate decode``: one message, through the local ledger."""


def decode() -> None:
    """Later."""
