"""Reads, and probes, of tools that are statements: in a transaction that may change nothing and is rolled back."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from effects.classes import EffectClass
from effects.statements import Statements
from gateway.turn.dispatching import Assignment
from gateway.upstream.port import Answered, NotSent, Reply
from gateway.upstream.postgres.replies import replied
from ledger.errors import LedgerError
from ledger.rows import Found
from ledger.statements import Failed, Undone, read_statements

THREADS = 4
"""Reads that run at once."""


class PostgresUpstream:
    """Runs the statements of reads in the database of ``engine``; it sends nothing that is no read."""

    def __init__(self, engine: Engine) -> None:
        """See the class."""
        self._engine = engine
        self._threads: ThreadPoolExecutor | None = None

    async def send(self, call: Assignment, *, timeout: float | None) -> Reply:
        """Run once; see ``Upstream.send``."""
        if call.effect is not EffectClass.READ_ONLY:
            return NotSent("runs_in_the_ledger", lasting=True)
        self._threads = self._threads or ThreadPoolExecutor(THREADS, "postgres-reads")
        seconds = call.timeout if timeout is None else timeout
        reading = partial(replied, call, partial(self._read, seconds, call.max_result))
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._told, reading)
        except RuntimeError as error:
            return NotSent("closed", str(error), lasting=True)

    async def aclose(self) -> None:
        """Let the threads go; see ``Upstream.aclose``. What still reads ends by its timeout."""
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)

    def _read(
        self, seconds: float, most: int, statements: Statements, parameters: dict[str, object]
    ) -> Found | Failed | Undone:
        return read_statements(
            self._engine, statements.texts, parameters, role=statements.role, seconds=seconds, most=most
        )

    @staticmethod
    def _told(reading: "partial[Answered | NotSent]") -> Reply:
        try:
            return reading()
        except (LedgerError, SQLAlchemyError) as error:
            # A read changes nothing, whatever became of it.
            return NotSent("database_away", type(error).__name__)
