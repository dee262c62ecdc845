"""Lines of a stdio server, however they are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCResponse

from gateway.upstream.mcp.line import Odd
from gateway.upstream.mcp.lines import Cut, Lines, message_of
from gateway.upstream.mcp.passage import PREFIX_BYTES


@given(st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_are_the_same_however_the_stream_is_cut(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    reader = Lines()
    assert [line for piece in pieces for line in reader.feed(piece)] == lines


@pytest.mark.parametrize("chunk", [1, 7, 1000, 100_000])
def test_of_a_line_that_is_too_long_both_ends_are_kept_and_the_next_one_is_whole(chunk: int) -> None:
    long = b"A" * 5_000 + b"x" * 20_000 + b"Z" * 5_000
    stream = long + b"\nnext\n"
    reader = Lines(10_000)
    found = [line for at in range(0, len(stream), chunk) for line in reader.feed(stream[at : at + chunk])]
    assert found == [Cut(b"A" * PREFIX_BYTES, b"Z" * PREFIX_BYTES), b"next"]


@pytest.mark.parametrize(
    ("head", "tail", "known"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{', b"}}", True),
        (b'{"id": 7, "jsonrpc":"2.0","result":{', b"}}", True),
        (b'{"jsonrpc":"2.0","result":{', b'},"id":7}', True),
        (b'{"result":{"id":7,', b'"x":1}}', False),
        (b'{"jsonrpc":"2.0","method":"x","params":{', b"}}", False),
    ],
)
def test_a_line_that_is_too_long_answers_the_request_that_it_names(
    head: bytes, tail: bytes, known: bool
) -> None:
    message = message_of(Cut(head, tail))
    if not known:
        assert message is None
        return
    assert message is not None
    assert isinstance(message.message, JSONRPCResponse)
    assert message.message.id == 7
    assert isinstance(message.message.result, Odd)
    assert message.message.result.cut


@pytest.mark.parametrize(
    "line",
    [b'{"jsonrpc":"2.0","id":7,"result":"text"}', b'{"jsonrpc":"2.0","id":7,"result":{"a":', b'{"id":7}'],
)
def test_what_is_no_message_answers_the_request_that_it_names(line: bytes) -> None:
    message = message_of(line)
    assert message is None or isinstance(message.message, JSONRPCResponse)
    if message is not None:
        assert isinstance(message.message, JSONRPCResponse)
        assert message.message.id == 7
        assert isinstance(message.message.result, Odd)
        assert message.message.result.raw == line


@pytest.mark.parametrize(
    "line", [b"hello", b"[]", b"\xff", b'{"method":1,"id":7}', b'{"id":true,"result":1}']
)
def test_what_names_no_request_is_nobodys(line: bytes) -> None:
    assert message_of(line) is None
