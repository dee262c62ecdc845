"""What a process that we started says on standard error: prints, warnings, and the traceback that it dies with.

It is logged line by line, and never as it came: such a process has secrets among its variables, and may say them.
"""

import asyncio
import re
import time
from collections.abc import Callable

import structlog

from gateway.upstream.secrets import Resolved

LONGEST_LINE = 2000
"""Characters of a line that are logged."""

MOST_LINES = 100
"""Lines that are taken of one call, of what comes before the first, or within so many seconds."""

_CHUNK = 1 << 16
_HELD = 1 << 16
"""Bytes of a line that are held: more than the longest secret and what is logged of a line."""

# A terminal would obey them.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_log = structlog.get_logger(__name__)


class Overheard:
    """Logs what one process says, without the secrets of ``resolved``, as ``<who>_said``, and once as ``<who>_says_more``.

    ``of``: what stands in each line beside it. ``seconds``: after so many, as much as is logged of them may be said again;
    None: only after ``begin``.
    """

    def __init__(
        self,
        who: str,
        resolved: Resolved,
        *,
        seconds: float | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        **of: str | int,
    ) -> None:
        """See the class."""
        self._who = who
        self._of = of
        self._resolved = resolved
        self._seconds = seconds
        self._monotonic = monotonic
        self._since = monotonic()
        self._line = bytearray()
        self._lines = 0

    def begin(self) -> None:
        """A call begins: as much as is logged of one may be said again."""
        self._lines = 0

    async def hear(self, stderr: asyncio.StreamReader) -> None:
        """Read to the end. What is not logged is read too: a process that cannot write cannot go on."""
        while chunk := await stderr.read(_CHUNK):
            self._renew()
            self._feed(chunk)
        if self._line:
            self._tell()

    def _renew(self) -> None:
        if self._seconds is not None and self._monotonic() - self._since >= self._seconds:
            self._since = self._monotonic()
            self._lines = 0

    def _feed(self, chunk: bytes) -> None:
        at = 0
        while (end := chunk.find(b"\n", at)) >= 0:
            self._take(chunk[at:end])
            self._tell()
            at = end + 1
            if self._lines > MOST_LINES:
                # The rest of it costs nobody else the time.
                at = chunk.rfind(b"\n") + 1
        self._take(chunk[at:])

    def _take(self, piece: bytes) -> None:
        self._line += piece[: _HELD + 1 - len(self._line)]

    def _tell(self) -> None:
        line = bytes(self._line)
        self._line.clear()
        if self._lines > MOST_LINES:
            return
        self._lines += 1
        if self._lines > MOST_LINES:
            _log.warning(f"{self._who}_says_more", **self._of)
            return
        if not line.strip():
            return
        told = self._resolved.hide_text(line.decode(errors="replace"), LONGEST_LINE, cut=len(line) > _HELD)
        _log.info(f"{self._who}_said", **self._of, line=_CONTROL.sub(_shown, told))


def _shown(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]):02x}"
