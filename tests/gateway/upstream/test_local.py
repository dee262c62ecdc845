"""Whose tables may run code on the dispatcher's machine: at the moment of sending, and when a table is applied."""

import asyncio
from typing import cast

import pytest

from effects.table import EffectTable
from effects.upstream import Server, Upstream
from gateway.errors import LocalUpstreamsOff
from gateway.http.problems import problem_of
from gateway.principal import everyone
from gateway.service.tables import EffectTables
from gateway.settings import Settings
from gateway.upstream.local import LocalUpstreams
from gateway.upstream.port import NotSent
from gateway.upstream.routing import Routes
from gateway.wiring import utc_now
from ledger.append import Ledger
from tests.gateway.upstream.calls import assignment
from tests.gateway.upstream.test_routing import Recording

TABLES = {
    "servers.x.command": "tools: {t: {effect: WRITE, upstream: {mcp: x}}}\nservers: {x: {command: [sh]}}",
    "tools.t.upstream.python": "tools: {t: {effect: WRITE, upstream: {python: 'os:system'}}}",
    "tools.t.upstream.postgres": "tools: {t: {effect: WRITE, upstream: {postgres: {statement: 'select 1'}}}}",
}


@pytest.mark.parametrize(
    ("setting", "own", "other"), [(None, True, False), ("true", True, True), ("false", False, False)]
)
def test_by_itself_only_the_own_tenant_runs_code_here(
    monkeypatch: pytest.MonkeyPatch, setting: str | None, own: bool, other: bool
) -> None:
    monkeypatch.setenv("COMMITGATE_TENANT", "mine")
    if setting is None:
        monkeypatch.delenv("COMMITGATE_LOCAL_UPSTREAMS", raising=False)
    else:
        monkeypatch.setenv("COMMITGATE_LOCAL_UPSTREAMS", setting)
    local = Settings().local
    assert (local.allows("mine"), local.allows("other")) == (own, other)


@pytest.mark.parametrize("path", TABLES)
def test_the_place_is_named(path: str) -> None:
    table = EffectTable.parse(TABLES[path])
    assert LocalUpstreams(setting=False).refused("default", table) == path
    assert LocalUpstreams().refused("default", table) is None
    assert LocalUpstreams().refused("other", table) == path


def test_what_only_calls_others_is_everybodys() -> None:
    table = EffectTable.parse(
        "tools: {t: {effect: WRITE, upstream: {mcp: x}}, u: {effect: WRITE, upstream: {http: 'http://a'}}}\n"
        "servers: {x: {url: 'http://a/mcp'}}"
    )
    assert LocalUpstreams(setting=False).refused("default", table) is None


@pytest.mark.parametrize(
    ("upstream", "server", "sent"),
    [
        (Upstream(python="a:b"), None, False),
        (Upstream(mcp="x"), Server(command=("sh",)), False),
        (Upstream(mcp="x"), Server(url="http://a/mcp"), True),
    ],
)
def test_a_table_that_was_applied_before_sends_nothing_either(
    upstream: Upstream, server: Server | None, sent: bool
) -> None:
    adapters = {"python": Recording("python"), "mcp": Recording("mcp")}
    routes = Routes(adapters, LocalUpstreams(setting=False))
    reply = asyncio.run(routes.send(assignment(upstream=upstream, server=server), timeout=1))
    if not sent:
        assert isinstance(reply, NotSent)
        assert (reply.because, reply.lasting) == ("local_upstreams_off", True)
    assert isinstance(reply, NotSent) is not sent


@pytest.mark.parametrize("path", TABLES)
def test_a_table_that_would_run_code_here_is_refused_with_its_place(path: str) -> None:
    nothing_is_written = cast(Ledger, None)
    tables = EffectTables(nothing_is_written, utc_now, None, LocalUpstreams(setting=False))
    with pytest.raises(LocalUpstreamsOff) as refused:
        tables.apply(everyone("default"), TABLES[path])
    trouble = problem_of(refused.value)
    assert (trouble.status, trouble.code, trouble.extra["path"]) == (422, "local_upstreams_off", path)
