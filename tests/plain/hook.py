"""The part of the plain mode that the driver keeps: a statement of the product that a plain engine lacks is not sent."""

from tests import statements
from tests.plain.forbidden import forbidden


class NotPlain(AssertionError):
    """The product used what a plain engine does not have. No error of the database: nobody may take it for one."""


def refuse(statement: str) -> None:
    """Raise NotPlain for a statement that a plain engine does not have."""
    feature = forbidden(statement)
    if feature is not None:
        raise NotPlain(f"{feature} in plain mode: {statement}")


def install() -> None:
    """Refuse from now on, in this process."""
    statements.begin(refuse)
