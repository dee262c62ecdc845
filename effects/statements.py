"""Tools that are SQL statements: they run inside the ledger's own database, in the transaction of the outcome (design.md,
"Dispatch: what is promised", 4). It is the only kind of tool that runs exactly once.
"""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

MAX_STATEMENTS = 20
"""Statements of one tool at most."""

COMMIT_KEY, INTENT_ID, IDEMPOTENCY_KEY = (
    "commitgate/commit_key",
    "commitgate/intent_id",
    "commitgate/idempotency_key",
)
OWN = frozenset({COMMIT_KEY, INTENT_ID, IDEMPOTENCY_KEY})
"""Parameters that the gateway fills in: what the call belongs to."""

_FIRST = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/)*([a-z]+)", re.IGNORECASE | re.DOTALL)
_PERCENT = re.compile(r"%(?:%|\(([^()%]{1,128})\)s)?")
_ALLOWED = frozenset({"select", "insert", "update", "delete", "merge", "with", "values", "call"})


def parameters(statement: str) -> frozenset[str]:
    """Names of the arguments that ``statement`` binds: ``%(name)s``. Raises ValueError for any other use of ``%``."""
    names = set()
    for found in _PERCENT.finditer(statement):
        if found.group(0) == "%":
            raise ValueError("a parameter is written %(name)s, and a percent sign %%")
        if found.group(1) is not None:
            names.add(found.group(1))
    unknown = {name for name in names if name.startswith("commitgate/")} - OWN
    if unknown:
        raise ValueError(f"there is no parameter {min(unknown)}; there are {', '.join(sorted(OWN))}")
    return frozenset(names)


def _statement(text: str) -> str:
    first = _FIRST.match(text)
    if first is None or first.group(1).lower() not in _ALLOWED:
        # What begins, ends or changes transactions and roles is not a tool's to say.
        raise ValueError(
            "a statement begins with SELECT, INSERT, UPDATE, DELETE, MERGE, WITH, VALUES or CALL"
        )
    if "\0" in text:
        raise ValueError("a statement holds no NUL")
    parameters(text)
    return text


Statement = Annotated[str, Field(min_length=1, max_length=20_000), AfterValidator(_statement)]


class Statements(BaseModel):
    """One ``statement`` or several ``statements``, which run one after the other, all or none.

    ``%(name)s`` is bound to the argument of that name and never becomes part of the text; objects and arrays are bound as
    ``jsonb``. ``%(commitgate/intent_id)s``, ``.../commit_key`` and ``.../idempotency_key`` are filled in. Tables are named with
    their schema: nothing but ``pg_catalog`` is searched. ``role``: the database role under which they run; None: the
    dispatcher's login.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    statement: Statement | None = None
    statements: tuple[Statement, ...] | None = Field(default=None, min_length=1, max_length=MAX_STATEMENTS)
    role: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_$]{0,62}$")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.statement is None) == (self.statements is None):
            raise ValueError("postgres is either {statement: SQL} or {statements: [SQL, ...]}")
        if self.role is not None and self.role.lower() == "none":
            raise ValueError("none is no role")
        return self

    @property
    def texts(self) -> tuple[str, ...]:
        """The statements, in order."""
        return self.statements or (self.statement or "",)

    @property
    def needed(self) -> frozenset[str]:
        """Names of the arguments that have to be there."""
        return frozenset().union(*map(parameters, self.texts)) - OWN
