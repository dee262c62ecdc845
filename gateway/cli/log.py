"""``commitgate ledger tail | checkpoint | key``: the sealed log as it grows, and what is signed for it."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from sqlalchemy import Engine

from gateway.cli.output import Format, FormatOption, chosen, say, write_line
from gateway.cli.reconcile import Moment
from gateway.database import database
from gateway.errors import InvalidRequest
from gateway.sealing import sign_now, signing_key
from gateway.service.log import cursor, read_cursor, sealed_view
from gateway.settings import Settings
from ledger.access.duty import Duty
from ledger.errors import BadCursor, LedgerUnavailable, LogForked, NotSealed
from ledger.events import EventType
from ledger.evidence.checkpoint import Checkpoint
from ledger.evidence.note import VerifierKey, body_of
from ledger.log.entries import SealedEvent, StoredCheckpoint, Wanted
from ledger.log.published import CheckpointFile
from ledger.log.reader import LogReader
from ledger.selfcheck import NOTHING_SIGNED

PAGE = 500
LAST = 20
LOOK = 0.2
"""Seconds between looks of ``tail --follow``; sealing itself takes about as long."""

_AWAY = 1.0
_WINDOW = 1000


def tail(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is sealed later.")] = False,
    last: Annotated[
        int | None,
        typer.Option(
            "--last", "-n", min=0, max=100_000, show_default=str(LAST), help="Begin so many events back."
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Begin with the first event.")] = False,
    after: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="Begin behind this place: a line's cursor.")
    ] = None,
    type_: Annotated[EventType | None, typer.Option("--type", help="Only such events.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only events about calls of this tool.")] = None,
    commit_key: Annotated[str | None, typer.Option(help="Only this stream.")] = None,
    since: Moment = None,
    until: Moment = None,
    format_: FormatOption = None,
) -> None:
    """Print sealed events in the order of the log: none twice, none skipped, whoever wrote them.

    As JSON each line has a cursor to go on from. Exit 0: done, 2: bad usage, 1: it failed.
    """
    if sum((last is not None, all_, after is not None)) > 1:
        raise InvalidRequest("--last, --all and --after each say where to begin: give one of them")
    settings = Settings()
    wanted = Wanted(
        tenant=settings.tenant,
        commit_key=commit_key,
        type=type_,
        tool=tool,
        since=_aware(since),
        until=_aware(until),
    )
    with _reader(settings, "commitgate-cli") as (reader, _):
        tailing = Tailing(reader, wanted, reader.state().log_id)
        show = _shower(tailing.log_id, format_)
        for event in tailing.begin(after, None if all_ else LAST if last is None else last):
            show(event)
        for event in tailing.go_on(follow=follow):
            show(event)


def checkpoint(
    sign: Annotated[bool, typer.Option("--sign", help="Seal and sign what is committed now.")] = False,
    format_: FormatOption = None,
) -> None:
    """Print the newest signed checkpoint, a C2SP note. Exit 0: printed, 1: nothing is signed yet, or it failed."""
    settings = Settings()
    with _reader(settings, "commitgate-cli", Duty.SEALER if sign else Duty.RECONCILER) as (reader, engine):
        signed = sign_now(engine, settings) if sign else newest(reader, settings)
    if chosen(format_) is Format.TABLE:
        typer.echo(signed.note, nl=False)
        return
    read = Checkpoint.parse(body_of(signed.note))
    told = {"origin": read.origin, "size": read.size, "root": read.root.hex(), "at": signed.at.isoformat()}
    write_line({"checkpoint": signed.note, **told})


def key(format_: FormatOption = None) -> None:
    """Print the verifier key, which checks what the log signs; it is no secret. Made at its first use.

    Bare text unless --format json is asked for. Exit 0: printed, 1: it failed.
    """
    settings = Settings()
    text = verifier_key(settings).text()
    if format_ is Format.JSON:
        write_line({"key": text, "file": str(settings.ledger_key_file.with_suffix(".pub"))})
    else:
        typer.echo(text)


def verifier_key(settings: Settings) -> VerifierKey:
    """The verifier key of this machine; made where nothing is signed yet. Raises KeyRefused.

    Needs the database only where there is no key yet.
    """
    public = settings.ledger_key_file.with_suffix(".pub")
    if public.exists():
        return VerifierKey.parse(public.read_text(encoding="utf-8"))
    with _reader(settings, "commitgate-cli") as (_, engine):
        return signing_key(engine, settings).verifier()


def newest(reader: LogReader, settings: Settings) -> StoredCheckpoint:
    """The newest checkpoint. Raises NotSealed where nothing is signed, LogForked where something was that is gone."""
    signed = reader.checkpoint()
    if signed is None:
        state = reader.state()
        kept = CheckpointFile(settings.checkpoints_folder, state.log_id)
        last = kept.last()
        if last is not None:
            raise LogForked(state.origin, last.size, str(kept.path))
        raise NotSealed(NOTHING_SIGNED)
    return signed


@dataclass(slots=True)
class Tailing:
    """Where a tail stands: everything up to ``index`` was looked at."""

    reader: LogReader
    wanted: Wanted
    log_id: str
    index: int = -1

    def begin(self, after: str | None, last: int | None) -> list[SealedEvent]:
        """Find the beginning: behind a cursor, the last so many events (given back), or the first (None)."""
        if after is not None:
            try:
                self.index = read_cursor(after, self.log_id)
            except BadCursor as error:
                raise BadCursor(f"--after: {error}") from error
            return []
        return [] if last is None else self._last(last)

    def go_on(self, *, follow: bool) -> Iterator[SealedEvent]:
        """What comes behind; with ``follow``, without end, and through a database that is away for a while."""
        away = False
        while True:
            try:
                page = self.reader.events(self.index, PAGE, self.wanted)
            except LedgerUnavailable:
                if not follow:
                    raise
                if not away:
                    say("the database is away; waiting")
                away = True
                time.sleep(_AWAY)
                continue
            away = False
            yield from page.events
            self.index = page.after
            if not page.more:
                if not follow:
                    return
                time.sleep(LOOK)

    def _last(self, count: int) -> list[SealedEvent]:
        self.index = end = self.reader.size() - 1
        found: deque[SealedEvent] = deque(maxlen=count)
        window = max(count, _WINDOW)
        while count and len(found) < count:
            found.clear()
            begin = at = max(end - window, -1)
            while at < end:
                page = self.reader.events(at, PAGE, self.wanted)
                found.extend(event for event in page.events if event.index <= end)
                at = page.after
            if begin < 0:
                break
            window *= 8
        return list(found)


def _shower(log_id: str, asked: Format | None) -> Callable[[SealedEvent], None]:
    if chosen(asked) is Format.JSON:
        return lambda sealed: write_line({**sealed_view(sealed), "cursor": cursor(log_id, sealed.index)})
    console = Console(highlight=False)

    def show(sealed: SealedEvent) -> None:
        event = sealed.event
        about = " ".join(
            str(part) for part in (event.branch, event.intent_id, event.attempt) if part is not None
        )
        line = f"{sealed.index:>8}  {event.at:%H:%M:%S.%f}  {sealed.commit_key} {event.seq:>4}  {event.type:<20} {about}"
        console.print(line.rstrip(), markup=False, soft_wrap=True)

    return show


@contextmanager
def _reader(
    settings: Settings, name: str, duty: Duty = Duty.RECONCILER
) -> Iterator[tuple[LogReader, Engine]]:
    with database(settings, name, (duty,)) as engine:
        yield LogReader(engine), engine


def _aware(moment: datetime | None) -> datetime | None:
    return moment if moment is None or moment.tzinfo is not None else moment.replace(tzinfo=UTC)
