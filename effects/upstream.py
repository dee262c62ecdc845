"""Where a tool is called: an HTTP URL, a tool of an MCP server that the table names, a Python function, or statements in
the ledger's own database (interface.md, "Tools (upstreams)").
"""

from functools import lru_cache
from typing import Annotated, Self
from urllib.parse import unquote_plus, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from effects.outbound import refuse_odd_number
from effects.secrets import LITERAL_SECRET, Headers, Variables, parameter_tells_secret
from effects.statements import Statements

ACCEPTED_BEFORE = "accepted_before"
"""In the context of a validation: the table is in force already, and is not refused for what has been refused since."""

_PORTS = {"http": 80, "https": 443}


@lru_cache(maxsize=1024)
def origin(url: str) -> str:
    """``scheme://host:port`` of an http or https URL, lower case, the port always given.

    Raises ValueError if the URL has another scheme, no host, a user name, a fragment, blanks or a port out
    of range.
    """
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("a URL is made of printable ASCII characters without blanks")
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("a URL begins with http:// or https:// and names a host")
    if "@" in parts.netloc or "#" in url:
        raise ValueError("a URL here has neither a user name nor a fragment")
    refuse_odd_number(parts.hostname)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    # parts.port raises ValueError itself beyond 65535.
    port = _PORTS[parts.scheme] if parts.port is None else parts.port
    return f"{parts.scheme}://{host}:{port}"


def _checked(url: str, info: ValidationInfo) -> str:
    origin(url)
    if (info.context or {}).get(ACCEPTED_BEFORE):
        return url
    # Some servers take a semicolon for an ampersand.
    for pair in urlsplit(url).query.replace(";", "&").split("&"):
        name = unquote_plus(pair.partition("=")[0])
        telling = parameter_tells_secret(name)
        if telling is not None:
            # What gives it away alone: a value may stand in the name, too.
            raise PydanticCustomError(
                LITERAL_SECRET,
                "the URL's query holds a secret ({name}): send it in a header, by env: NAME or file: PATH",
                {"name": telling},
            )
    return url


Url = Annotated[str, AfterValidator(_checked)]


Function = Annotated[
    str,
    Field(
        max_length=256,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$",
    ),
]
"""A function as ``module:function``."""

Pin = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
"""Digest of a tool's definition, as ``import-mcp`` prints it."""


class Upstream(BaseModel):
    """One of ``http``, the URL that takes the tool's POST; ``mcp``, the alias of a server of the table; ``python``, a function
    as ``module:function``; ``postgres``, statements that run inside the ledger's own database.

    ``tool``: what the MCP server calls the tool, where that is not its name in the table. ``headers``: sent with each call
    to ``http``, beside the gateway's own. ``env``: variables of the processes that run the ``python`` function.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    http: Url | None = None
    mcp: str | None = Field(default=None, min_length=1)
    python: Function | None = None
    postgres: Statements | None = None
    tool: str | None = Field(default=None, min_length=1, max_length=256)
    headers: Headers | None = None
    env: Variables | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(one is not None for one in (self.http, self.mcp, self.python, self.postgres)) != 1:
            raise ValueError(
                "an upstream is one of {http: URL}, {mcp: SERVER}, {python: 'm:f'}, {postgres: ...}"
            )
        if self.tool is not None and self.mcp is None:
            raise ValueError("tool is the name of a tool at an MCP server; this is none")
        if self.headers is not None and self.http is None:
            raise ValueError("headers are for {http: URL}; those of an MCP server stand under servers")
        if self.env is not None and self.python is None:
            raise ValueError(
                "env is for {python: 'module:function'}; that of an MCP server stands under servers"
            )
        return self

    @property
    def kind(self) -> str:
        """What it speaks, and so which adapter sends its calls."""
        return next(kind for kind in ("http", "mcp", "python", "postgres") if getattr(self, kind) is not None)

    @property
    def name(self) -> str:
        """What calls of one upstream share: the origin of the URL, ``mcp:<alias>``, ``python:<module>``, ``postgres``."""
        if self.http is not None:
            return origin(self.http)
        if self.python is not None:
            return f"python:{self.python.partition(':')[0]}"
        return f"mcp:{self.mcp}" if self.mcp is not None else "postgres"


class Server(BaseModel):
    """An MCP server: the ``command`` that starts it, or the ``url`` where it listens.

    ``pins``: digests of the definitions that the operator has seen, by the server's names of its tools. A tool that is
    defined otherwise is not called. None: each tool is held to the first definition that a process sees of it.
    ``headers``: sent with each request to ``url``; ``env``: variables of the process of ``command``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: tuple[str, ...] | None = Field(default=None, min_length=1)
    url: Url | None = None
    pins: dict[str, Pin] | None = None
    headers: Headers | None = None
    env: Variables | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("a server is either {command: [...]} or {url: URL}")
        if self.headers is not None and self.url is None:
            raise ValueError("headers are for a server with a url")
        if self.env is not None and self.command is None:
            raise ValueError("env is for a server with a command")
        return self


def runs_locally(upstream: Upstream, server: Server | None) -> bool:
    """Whether whoever writes the table runs code of his own by it: on the dispatcher's machine, or in its database."""
    return upstream.kind in ("python", "postgres") or (server is not None and server.command is not None)
