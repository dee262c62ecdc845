"""MCP over stdio: what all adapters do."""

from collections.abc import Iterator

import pytest

from gateway.upstream.mcp.adapter import McpUpstream
from tests.gateway.upstream.mcp_bench import McpBench
from tests.gateway.upstream.running import Running
from tests.gateway.upstream.suite import UpstreamSuite


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> McpBench:
    return McpBench(tmp_path_factory.mktemp("peer"), "stdio")


@pytest.fixture
def bench(one: McpBench) -> McpBench:
    one.renew()
    return one


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with Running(McpUpstream()) as runs:
        yield runs


class TestMcpStdio(UpstreamSuite):
    """All that every adapter must do."""
