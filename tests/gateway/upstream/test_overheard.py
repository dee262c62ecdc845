"""What processes say on standard error, as it is logged."""

import asyncio
import time

import pytest
from structlog.testing import capture_logs

from gateway.upstream.overheard import LONGEST_LINE, MOST_LINES, Overheard
from gateway.upstream.secrets import NOTHING, Resolved


def test_what_is_said_without_end_is_cut_short() -> None:
    with capture_logs() as lines:
        asyncio.run(_hear(Overheard("function", NOTHING, function="m:f"), b"again\n" * 10_000))
    events = [line["event"] for line in lines]
    assert events == [*["function_said"] * MOST_LINES, "function_says_more"]
    assert {line["function"] for line in lines} == {"m:f"}


def test_after_a_while_as_much_may_be_said_again() -> None:
    now = [0.0]
    told = Overheard("mcp_server", NOTHING, seconds=60, monotonic=lambda: now[0], server="shop")
    counts = []
    for now[0] in (0.0, 59.9, 60.0, 61.0, 120.0):
        with capture_logs() as lines:
            asyncio.run(_hear(told, b"again\n" * MOST_LINES + b"again"))
        counts.append([line["event"] for line in lines].count("mcp_server_said"))
    assert counts == [MOST_LINES, 0, MOST_LINES, 0, MOST_LINES]


@pytest.mark.parametrize("at", range(0, 30, 3))
def test_no_cut_leaves_the_beginning_of_a_secret(at: int) -> None:
    secret = "swordfish" * 1000
    told = Overheard("function", Resolved({}, (secret,)))
    with capture_logs() as lines:
        asyncio.run(_hear(told, b"y" * at + secret.encode() * 20 + b"\n"))
    assert "sword" not in str(lines)
    assert "[secret]" in str(lines)


def test_a_long_line_is_cut_and_the_next_one_is_whole() -> None:
    with capture_logs() as lines:
        asyncio.run(_hear(Overheard("function", NOTHING), b"x" * (1 << 18) + b"\nnext\n"))
    assert [len(line["line"]) for line in lines] == [LONGEST_LINE, 4]


def test_no_terminal_is_told_what_to_do() -> None:
    with capture_logs() as lines:
        asyncio.run(_hear(Overheard("function", NOTHING), b"\x1b[2Jgone\r\n"))
    assert [line["line"] for line in lines] == ["\\x1b[2Jgone\\x0d"]


def test_what_is_not_logged_costs_next_to_nothing() -> None:
    begun = time.process_time()
    with capture_logs() as lines:
        asyncio.run(_hear(Overheard("function", NOTHING), b"\n" * (1 << 24)))
    assert time.process_time() - begun < 2
    assert [line["event"] for line in lines] == ["function_says_more"]


async def _hear(overheard: Overheard, said: bytes) -> None:
    stderr = asyncio.StreamReader()
    stderr.feed_data(said)
    stderr.feed_eof()
    await overheard.hear(stderr)
