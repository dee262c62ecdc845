"""What the process of a function says on standard error: prints, warnings, and the traceback that it dies with.

It is logged line by line, and never as it came: a function has secrets among its variables, and may say them.
"""

import asyncio

import structlog

from gateway.upstream.secrets import Resolved

LONGEST_LINE = 2000
"""Characters of a line that are logged."""

MOST_LINES = 100
"""Lines that are logged of one call, and of the loading of the module."""

_CHUNK = 1 << 16
_HELD = 1 << 16
"""Bytes of a line that are held: more than the longest secret and what is logged of a line."""

_log = structlog.get_logger(__name__)


class Overheard:
    """Logs what one process says, without the secrets of ``resolved``."""

    def __init__(self, function: str, pid: int, resolved: Resolved) -> None:
        """See the class."""
        self._function = function
        self._pid = pid
        self._resolved = resolved
        self._line = bytearray()
        self._lines = 0

    def begin(self) -> None:
        """A call begins: as much as is logged of one may be said again."""
        self._lines = 0

    async def hear(self, stderr: asyncio.StreamReader) -> None:
        """Read to the end. What is not logged is read too: a process that cannot write cannot go on."""
        while chunk := await stderr.read(_CHUNK):
            *ended, rest = chunk.split(b"\n")
            for end in ended:
                self._take(end)
                self._tell()
            self._take(rest)
        self._tell()

    def _take(self, piece: bytes) -> None:
        self._line += piece[: _HELD + 1 - len(self._line)]

    def _tell(self) -> None:
        line = bytes(self._line)
        self._line.clear()
        if not line.strip() or self._lines > MOST_LINES:
            return
        self._lines += 1
        if self._lines > MOST_LINES:
            _log.warning("function_says_more", function=self._function, pid=self._pid)
            return
        _log.info("function_said", function=self._function, pid=self._pid, line=self._without_secrets(line))

    def _without_secrets(self, line: bytes) -> str:
        hidden = self._resolved.hide(line)
        if len(line) > _HELD:
            # The beginning of a secret may stand where it was cut.
            longest = max((len(secret) for secret in self._resolved.secrets), default=0)
            hidden = hidden[: len(hidden) - 2 * longest]
        return hidden.decode(errors="replace")[:LONGEST_LINE]
