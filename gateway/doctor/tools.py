"""The effect table: whether its calls can be sent, and what it leaves unsaid."""

import socket
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from effects.classes import EffectClass
from effects.outbound import host_of
from effects.table import EffectTable
from effects.tool import Tool
from effects.wording import counted
from gateway.doctor.finding import Finding, Verdict
from gateway.turn.tables import TableInForce
from gateway.upstream.secrets import SecretMissing, Secrets

CONNECT_WITHIN = 1.0
"""Seconds for one connection to a tool."""

_AT_ONCE = 16


def in_force(force: TableInForce, tenant: str) -> Iterator[Finding]:
    """``effect_table``: one is in force."""
    if force.version == 0:
        told = f"tenant {tenant} has none: every tool is unknown, and its calls are refused"
        yield Finding("effect_table", Verdict.WARN, told, "commitgate effects apply effects.yaml")
    else:
        told = f"version {force.version} of tenant {tenant}: {counted(len(force.table.tools), 'tool')}"
        yield Finding("effect_table", Verdict.PASS, told)


def upstreams(table: EffectTable, kinds: Collection[str]) -> Iterator[Finding]:
    """``upstream_kinds``: this installation can send to each. ``kinds``: those that it speaks."""
    unknown = [name for name, tool in table.tools.items() if tool.upstream.kind not in kinds]
    hint = "a newer version applied the table: upgrade this one"
    yield _about("upstream_kinds", Verdict.FAIL, "kind of upstream not spoken here", unknown, hint)


def secrets(table: EffectTable, tenant: str, known: Secrets) -> Iterator[Finding]:
    """``secrets``: what headers and variables refer to is there, in the environment of the doctor."""
    wanted = [(f"tool {name}", tool.upstream.headers) for name, tool in table.tools.items()]
    wanted += [(f"tool {name}", tool.upstream.env) for name, tool in table.tools.items()]
    for alias, server in table.servers.items():
        wanted += [(f"server {alias}", server.headers), (f"server {alias}", server.env)]
    missing = []
    for whose, values in wanted:
        try:
            known.resolve(tenant, values)
        except SecretMissing as error:
            missing.append(f"{whose} ({error})")
    hint = "set them where workers run (and COMMITGATE_SECRET_ENV, COMMITGATE_SECRET_FILES must allow them)"
    yield _about("secrets", Verdict.FAIL, "not found", missing, hint)


def unsaid(table: EffectTable) -> Iterator[Finding]:
    """``footprints``, ``idempotency_windows``, ``probes``, ``pins``: what makes calls wait, or doubts last, too long."""
    without = [name for name, tool in table.tools.items() if _lacks_footprint(tool)]
    hint = "declare reads or writes ([] for none): such a call conflicts with every call of its upstream"
    yield _about("footprints", Verdict.WARN, "undeclared", without, hint)
    windowless = [
        name
        for name, tool in table.tools.items()
        if EffectClass.IDEMPOTENT in tool.possible and tool.window is None
    ]
    hint = (
        "declare window: how long the tool recognises a key; without it a lost call is in doubt, as a WRITE"
    )
    yield _about("idempotency_windows", Verdict.WARN, "IDEMPOTENT without a window", windowless, hint)
    unprobed = [
        name
        for name, tool in table.tools.items()
        if EffectClass.WRITE in tool.possible and tool.probe is None
    ]
    hint = (
        "declare probe where the tool can be asked what happened: without one a person decides about doubts"
    )
    yield _about("probes", Verdict.INFO, "WRITE without a probe", unprobed, hint)
    unpinned = [alias for alias, server in table.servers.items() if server.pins is None]
    hint = "commitgate effects import-mcp prints pins; without them each process trusts what it sees first"
    yield _about("pins", Verdict.INFO, "MCP servers without pins", unpinned, hint)


def reachable(table: EffectTable) -> Iterator[Finding]:
    """``reachable``: something takes a TCP connection where tools are. Nothing is sent."""
    urls = {tool.upstream.http for tool in table.tools.values()} | {s.url for s in table.servers.values()}
    places = sorted({_place(url) for url in urls if url is not None})
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        found = list(threads.map(lambda place: _trouble(table, *place), places))
    hint = (
        "calls to it are tried 5 times and then unavailable, or wait; is it running, and reachable from here?"
    )
    yield _about("reachable", Verdict.WARN, "no connection", [told for told in found if told], hint)


def _about(check: str, verdict: Verdict, told: str, what: Iterable[str], hint: str) -> Finding:
    named = list(what)
    if not named:
        return Finding(check, Verdict.PASS, "nothing to say")
    shown = ", ".join(named[:10]) + (f" and {len(named) - 10} more" if len(named) > 10 else "")
    return Finding(check, verdict, f"{told}: {shown}", hint)


def _lacks_footprint(tool: Tool) -> bool:
    reads = EffectClass.READ_ONLY in tool.possible and tool.reads is None
    return reads or (tool.possible != {EffectClass.READ_ONLY} and tool.writes is None)


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return host_of(url), parts.port or {"https": 443}.get(parts.scheme, 80)


def _trouble(table: EffectTable, host: str, port: int) -> str | None:
    """Why no connection was made; None: one was."""
    refused = table.outbound.refuses_name(host)
    try:
        if refused is None:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = [str(address[0]) for *_, address in found]
            refused = next(filter(None, (table.outbound.refuses(host, each) for each in addresses)), None)
        if refused is not None:
            return f"{host}:{port} (refused: {refused})"
        with socket.create_connection((addresses[0], port), CONNECT_WITHIN):
            return None
    except OSError as error:
        return f"{host}:{port} ({error.strerror or type(error).__name__})"
