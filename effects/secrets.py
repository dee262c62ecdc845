"""Values that are named and not said: secrets stay in the environment or in files of the process that sends.

What the ledger keeps of a header is the reference. A literal is for what is no secret: a header whose name says that it is
one is refused as a literal.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictStr, model_validator
from pydantic_core import PydanticCustomError

LITERAL_SECRET = "literal_secret"  # noqa: S105 - a code
"""Code of the refusal of a secret that stands in the table itself."""

_RESERVED_WORDS = """
accept-encoding baggage commit-key connection content-encoding content-length content-type expect host idempotency-key
intent-id keep-alive last-event-id mcp-protocol-version mcp-session-id te traceparent tracestate trailer transfer-encoding
upgrade
"""
RESERVED = frozenset(_RESERVED_WORDS.split())
"""Headers that are the gateway's or the transport's own, lower case."""

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}\Z")
_LITERAL = re.compile(r"[\x20-\x7e]{0,1000}\Z")
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"
_TELLING = re.compile(
    r"authori[sz]ation|authentic|\bauth\b|cookie|secret|token|passw|credential|session|signature|(^|[-_])(api)?[-_]?key([-_]|$)|apikey",
    re.IGNORECASE,
)
_TELLING_PARAMETER = re.compile(
    r"(?<=[a-z])Key\b|\bappkey\b|(?<![a-z])(pwd|pass|sig|sas|jwt|bearer)(?![a-z])", re.ASCII
)


class Reference(BaseModel):
    """Where the process that sends finds a value: the environment variable ``env``, or the file ``file`` (an absolute
    path; a line end at its end does not count). ``prefix`` stands before it: ``"Bearer "``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    env: str | None = Field(default=None, pattern=_VARIABLE)
    file: str | None = Field(default=None, pattern=r"^/[^\x00]{1,1000}$")
    prefix: str | None = Field(default=None, pattern=r"^[A-Za-z][A-Za-z-]{0,15} $")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.env is None) == (self.file is None):
            raise ValueError("a reference is either {env: NAME} or {file: PATH}")
        return self


Value = StrictStr | Reference


def _headers(headers: Mapping[str, Value]) -> Mapping[str, Value]:
    seen = set()
    for name, value in headers.items():
        lowered = name.lower()
        if _TOKEN.match(name) is None:
            raise ValueError("a header has a name of letters, digits and hyphens")
        if lowered in RESERVED or lowered.startswith("proxy-"):
            raise ValueError(f"the header {name} is not the table's to set")
        if lowered in seen:
            raise ValueError(f"the header {name} stands twice")
        seen.add(lowered)
        if isinstance(value, str):
            _literal(name, value)
    return headers


def _variables(variables: Mapping[str, Value]) -> Mapping[str, Value]:
    for name, value in variables.items():
        if re.match(_VARIABLE, name) is None:
            raise ValueError("an environment variable has a name of letters, digits and underscores")
        if isinstance(value, str):
            _literal(name, value)
    return variables


def tells_secret(name: str) -> str | None:
    """The part of a name that says that what is called so is a secret; None where it does not."""
    found = _TELLING.search(name)
    return None if found is None else found[0]


def parameter_tells_secret(name: str) -> str | None:
    """As ``tells_secret``, of a parameter in a URL's query; those have names of their own for it."""
    found = _TELLING_PARAMETER.search(name)
    return tells_secret(name) if found is None else found[0]


def _literal(name: str, value: str) -> None:
    """The value must not be repeated in what is said of it."""
    if tells_secret(name) is not None:
        raise PydanticCustomError(
            LITERAL_SECRET,
            "{name} holds a secret: refer to it by env: NAME or file: PATH",
            {"name": name},
        )
    if _LITERAL.match(value) is None:
        raise ValueError(f"the value of {name} is not printable ASCII of at most 1000 characters")


Headers = Annotated[dict[str, Value], Field(max_length=50), AfterValidator(_headers)]
"""Headers of requests to a tool, each a literal or a reference."""

Variables = Annotated[dict[str, Value], Field(max_length=100), AfterValidator(_variables)]
"""Environment variables of a server that is started, each a literal or a reference."""
