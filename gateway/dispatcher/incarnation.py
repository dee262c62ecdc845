"""Taking a database in that came back: restored, failed over with loss, copied, or only started again.

Until that is done the database refuses every licence that is not for a read (``ledger.incarnation``). Any number of
dispatchers may do it at once, and any of them may die over it: a shard is let go again by one conditional statement, and
what was made a doubt before is found in doubt.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import takewhile

import structlog
from sqlalchemy.exc import SQLAlchemyError

from gateway.dispatcher.books import Books, Sleep
from gateway.dispatcher.settings import DispatcherSettings
from gateway.dispatcher.waves import Decide
from gateway.dispatcher.witness import Witness
from gateway.turn.restored import doubt_unsettled
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.change import SideRow
from ledger.errors import LedgerError, LedgerUnavailable
from ledger.events import EventType
from ledger.incarnation import Database, Incarnations, Look
from ledger.sharding import StreamName

_log = structlog.get_logger(__name__)


class Intake:
    """Looks every ``poll_interval`` whether the database is the one that is known, and takes it in where it is not.

    ``found_work`` is called when calls may be sent again. ``witness`` remembers the database beyond this process;
    it is told every ``sweep_interval``, by ``monotonic`` seconds.
    """

    def __init__(
        self,
        books: Books,
        incarnations: Incarnations,
        settings: DispatcherSettings,
        *,
        sleep: Sleep,
        found_work: Callable[[], None],
        witness: Witness,
        monotonic: Callable[[], float],
    ) -> None:
        """See the class."""
        self._books = books
        self._incarnations = incarnations
        self._settings = settings
        self._sleep = sleep
        self._found_work = found_work
        self._witness = witness
        self._monotonic = monotonic
        self._seen: Database | None = None
        self._tell_at = 0.0
        self._stuck = False

    async def run(self) -> None:
        """Look until cancelled; a database that is away is waited for."""
        while True:
            # A database that is away, and a shard that could not be taken in, are tried again and not in a hurry.
            settings = self._settings
            await self._sleep(settings.sweep_interval if self._stuck else settings.poll_interval)
            await self.attempt()

    async def attempt(self) -> None:
        """Look once; what goes wrong is logged, and the database goes on refusing."""
        try:
            if await self.once():
                self._found_work()
        except (LedgerError, SQLAlchemyError) as error:
            self._stuck = True
            _log.warning("incarnation_unknown", error=str(error))
        except Exception:  # noqa: BLE001 - one look that breaks must not end all that follow
            self._stuck = True
            _log.exception("incarnation_not_taken_in")

    async def once(self) -> int:
        """Look, and take in what is not; the number of shards. Raises LedgerUnavailable where it cannot look."""
        look = await self._judged(await self._look())
        taken = 0
        if look.restarted:
            taken = await self._books.ask(
                self._incarnations.take_in, look.restarted, look.database, swept=False
            )
        if look.foreign:
            taken += await self._sweep(look)
        self._stuck = taken < len(look.restarted) + len(look.foreign)
        await self._see(look.database)
        return taken

    async def _see(self, database: Database) -> None:
        unknown = self._seen is None or not self._seen.same_server(database)
        grown = self._seen is None or self._seen.flushed != database.flushed
        self._seen = database
        if unknown or (grown and self._monotonic() >= self._tell_at):
            await self._books.ask(self._witness.keep, database)
            self._tell_at = self._monotonic() + self._settings.sweep_interval

    async def _look(self) -> Look:
        return await self._books.ask(self._incarnations.look, self._settings.shards)

    async def _judged(self, look: Look) -> Look:
        """``look``, after a database that has less than was seen of it is taken for a foreign one."""
        seen = self._seen
        if seen is None or seen.identity != look.database.identity:
            seen = await self._books.ask(self._witness.last, look.database.identity)
        if seen is None or not look.database.went_back(seen):
            return look
        lost = seen.flushed - look.database.flushed
        _log.error("database_went_back", identity=look.database.identity, bytes_lost=lost)
        await self._books.ask(self._incarnations.disown, look.database)
        return await self._look()

    async def _sweep(self, look: Look) -> int:
        """Shard after shard: doubts for what is not settled, then calls of the shard may be sent again."""
        _log.error("database_restored", identity=look.database.identity, shards=len(look.foreign))
        left, after, taken, streams = list(look.foreign), None, 0, 0
        while True:
            page = await self._books.ask(
                self._incarnations.unsettled, look.foreign, self._settings.sweep_batch, after=after
            )
            for stream in page:
                taken += await self._let_go(look.database, left, before=stream.shard)
                if not await self._doubted(stream) and stream.shard in left:
                    left.remove(stream.shard)
                after = stream
            streams += len(page)
            if len(page) < self._settings.sweep_batch:
                break
        taken += await self._let_go(look.database, left)
        _log.warning("database_taken_in", identity=look.database.identity, shards=taken, streams=streams)
        return taken

    async def _let_go(self, database: Database, left: list[int], *, before: int | None = None) -> int:
        """Take in the shards that are through: all of ``left`` below ``before``, which come out of it."""
        through = list(takewhile(lambda shard: before is None or shard < before, left))
        if not through:
            return 0
        del left[: len(through)]
        taken = await self._books.ask(self._incarnations.take_in, through, database, swept=True)
        self._found_work()
        return taken

    async def _doubted(self, stream: StreamName) -> bool:
        """Whether every unsettled call of the stream was looked through; if not, its shard stays as it is."""
        try:
            since = await self._books.ask(self._incarnations.let_go_since, stream)
            appended = await self._books.decide(stream, _doubting(since))
        except LedgerUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - one stream that cannot be decided must not keep the other shards waiting
            _log.error("stream_not_taken_in", commit_key=stream.commit_key, error=repr(error))
            return False
        doubted = [event.intent_id for event in appended.events if event.type is EventType.DISPATCH_IN_DOUBT]
        if doubted:
            _log.warning("calls_in_doubt", commit_key=stream.commit_key, intents=doubted)
        return True


def _doubting(since: Mapping[str, datetime]) -> Decide:
    def decide(unfolding: Unfolding, force: TableInForce) -> Sequence[SideRow]:
        doubt_unsettled(unfolding, force, since)
        return ()

    return decide
