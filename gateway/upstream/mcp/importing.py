"""What a server offers, as a piece of an effect table for an operator to read (``commitgate effects import-mcp``).

What a server says of its tools is a claim. It is shown, and it lowers nothing: every tool is a WRITE of the open world
until an operator pins it.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence

from effects.classes import EffectClass
from effects.strict_json import JSONRefused
from effects.upstream import Server
from effects.wording import counted
from gateway.errors import InvalidRequest
from gateway.upstream.mcp.access import Access
from gateway.upstream.mcp.connection import Connection
from gateway.upstream.mcp.definitions import definition_digest
from gateway.upstream.secrets import Secrets

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
SAID = 160
"""Characters of a description that are shown."""

_TOOL_NAME = re.compile(r"[^\s\x00-\x1f\x7f]{1,128}")
# What YAML does not take as it is, or JSON leaves as it is and a terminal obeys.
_UNPRINTABLE = re.compile(r"[\x7f-\x9f\ud800-\udfff\ufffe\uffff\u2028\u2029\ufeff]")


def server_of(target: str) -> Server:
    """The server that a URL or a command line names. Raises ``InvalidRequest``."""
    try:
        if target.startswith(("http://", "https://")):
            return Server(url=target)
        return Server(command=tuple(shlex.split(target)))
    except ValueError as error:
        raise InvalidRequest(f"no MCP server: {' '.join(str(error).split())}") from error


async def listing_of(access: Access, secrets: Secrets | None = None) -> list[dict[str, object]]:
    """What the server lists now, as it came. Raises ``Unreachable``."""
    connection = Connection(access, secrets=secrets)
    try:
        return list(await connection.definitions())
    finally:
        await connection.close()


def fragment(
    server: Server,
    alias: str,
    tools: Sequence[Mapping[str, object]],
    *,
    pinned: Mapping[str, EffectClass],
    prefix: str = "",
) -> str:
    """YAML of an effect table that holds this server alone. ``pinned``: classes that the operator gives, by the server's
    names. ``prefix``: put before the names that the tools get in the table.

    Raises ``InvalidRequest`` for a class of a tool that is not listed, and for tools whose names a table cannot hold or
    whose definitions two readers could read differently.
    """
    named = {str(tool.get("name")): tool for tool in tools}
    if len(named) != len(tools):
        raise InvalidRequest("the server lists two tools with one name")
    unknown = sorted(set(pinned) - set(named))
    if unknown:
        raise InvalidRequest(f"the server has no tool {unknown[0]!r}")
    lines = [
        f"# {counted(len(named), 'tool')} of an MCP server. Claims are the server's own words: they lower nothing.",
        "# Pin a class, and the keys a tool reads and writes, where you know better than WRITE.",
        "servers:",
        f"  {_spelled(alias)}:",
        f"    {_where(server)}",
        "    pins:" if named else "    pins: {}",
    ]
    lines += [f"      {_spelled(name)}: {_digest(name, tool)}" for name, tool in sorted(named.items())]
    lines.append("tools:" if named else "tools: {}")
    for name, tool in sorted(named.items()):
        lines += _tool(name, tool, alias, pinned.get(name), prefix)
    return "\n".join(lines) + "\n"


def _tool(
    name: str, tool: Mapping[str, object], alias: str, pinned: EffectClass | None, prefix: str
) -> list[str]:
    own = prefix + name
    if _TOOL_NAME.fullmatch(own) is None:
        raise InvalidRequest(f"a table holds no tool of the name {name!r}")
    upstream = {"mcp": alias} if own == name else {"mcp": alias, "tool": name}
    effect = EffectClass.WRITE if pinned is None else pinned
    lines = [f"  {_spelled(own)}:"]
    said = tool.get("description")
    if isinstance(said, str) and said:
        lines.append(f"    # says: {_spelled(said[:SAID])}")
    lines.append(f"    # claims: {_claims(tool)}")
    lines.append(f"    effect: {effect.value}" + ("  # not pinned" if pinned is None else "  # pinned"))
    lines.append("    open_world: true")
    lines.append(f"    upstream: {_spelled(upstream)}")
    schema = tool.get("inputSchema")
    if isinstance(schema, dict):
        lines.append(f"    schema: {_spelled(schema)}")
    return lines


def _claims(tool: Mapping[str, object]) -> str:
    annotations = tool.get("annotations")
    said = annotations if isinstance(annotations, dict) else {}
    claims = [f"{hint}={_spelled(said[hint])}" for hint in HINTS if hint in said]
    return ", ".join(claims) or "none"


def _where(server: Server) -> str:
    return (
        f"url: {_spelled(server.url)}" if server.url is not None else f"command: {_spelled(server.command)}"
    )


def _digest(name: str, tool: Mapping[str, object]) -> str:
    try:
        return _spelled(definition_digest(tool))
    except JSONRefused as error:
        raise InvalidRequest(f"the definition of {name!r} is not taken: {error.detail}") from error


def _spelled(value: object) -> str:
    """JSON on one line, which is YAML too."""
    text = json.dumps(value)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
