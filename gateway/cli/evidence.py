"""``commitgate ledger export | verify | proof``: what the log holds, for somebody who trusts nothing but a public key."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from sqlalchemy import Engine

from effects.wording import counted
from gateway.cli.log import newest, verifier_key
from gateway.cli.output import Format, FormatOption, chosen, say, write_line
from gateway.cli.piped import on_disk
from gateway.cli.progress import bar
from gateway.cli.wholefile import written_whole
from gateway.database import database
from gateway.errors import InvalidRequest
from gateway.sealing import sign_now
from gateway.settings import Settings
from ledger.access.duty import Duty
from ledger.errors import EvidenceRefused, KeyRefused, NotSealed, UnknownTenant
from ledger.evidence.exportfile import lines_of
from ledger.evidence.note import VerifierKey
from ledger.evidence.report import Fault, Report
from ledger.evidence.verify import verify as verify_export
from ledger.exporting import export as exported
from ledger.exporting import redacted_since
from ledger.kept import kept_notes
from ledger.listing import has_events
from ledger.log.entries import StoredCheckpoint
from ledger.log.published import CheckpointFile
from ledger.log.reader import LogReader
from ledger.proof import FORMAT as PROOF_FORMAT
from ledger.proof import check_kept, check_proof, prove
from ledger.selfcheck import check_database

TRIES = 3
"""How often an export is begun."""

WRONG = 3
"""Exit code when something is wrong with what was checked."""

_HEAD = 4096
_PROOF_BYTES = 64 * 1024 * 1024
_TELL = 1024 * 1024


def export(
    file: Annotated[
        Path, typer.Argument(dir_okay=False, help="Where to write; replaced only once it is whole.")
    ],
    tenant: Annotated[
        str | None, typer.Option(help="Show the events of this tenant alone; of others, hashes.")
    ] = None,
    format_: FormatOption = None,
) -> None:
    """Write the whole log into a file that can be verified offline; it ends with a fresh checkpoint that covers it.

    Exit 0: written, 2: no event of the tenant is recorded, 1: it failed; the file is as it was then.
    """
    settings = Settings()
    needs = Duty.SEALER if settings.seal else Duty.RECONCILER
    with database(settings, "commitgate-cli", (needs,)) as engine, written_whole(file) as out:
        until = _export(engine, settings, out, tenant)
    told = {"file": str(file), "events": until.size, "tenant": tenant}
    if chosen(format_) is Format.JSON:
        write_line({**told, "checkpoint": until.note})
    else:
        say(f"{counted(until.size, 'event')} in {file}")


def proof(
    commit_key: Annotated[str, typer.Argument(metavar="KEY")],
    seq: Annotated[int, typer.Argument(min=1, max=2**53 - 1, help="Seq of the event in its stream.")],
) -> None:
    """Print one JSON object that proves an event to whoever has the verifier key: check it with `ledger verify`.

    Exit 0: printed, 1: no checkpoint covers the event yet, or it failed, 2: there is no such event.
    """
    settings = Settings()
    with database(settings, "commitgate-cli", (Duty.RECONCILER,)) as engine:
        write_line(prove(LogReader(engine), settings.tenant, commit_key, seq))


def verify(
    file: Annotated[
        Path | None,
        typer.Argument(
            exists=True, dir_okay=False, help="An export or a proof; without: the database itself."
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="PUBKEY", help="Verifier key, or a file with it; for the database: this machine's."
        ),
    ] = None,
    checkpoints: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            help="Checkpoints that were kept: a file, or a folder of such; for the database: its own.",
        ),
    ] = None,
    format_: FormatOption = None,
) -> None:
    """Check a file offline, with nothing but the key; or the database against its tree and all that was signed.

    Exit 0: all is well, 3: something is wrong (the first bad index is named), 2: bad usage, 1: it failed.
    """
    if file is None:
        fault = _verify_database(key, checkpoints, format_)
    elif key is None:
        raise InvalidRequest("a file is verified with --key: the verifier key of the log")
    else:
        fault = _verify_file(file, _key(key), checkpoints, format_)
    if fault:
        raise typer.Exit(WRONG)


def _export(engine: Engine, settings: Settings, out: BinaryIO, tenant: str | None) -> StoredCheckpoint:
    """Write up to a fresh checkpoint; once more where a redaction came between, which nothing in the file would name."""
    if tenant is not None and not has_events(engine, tenant):
        raise UnknownTenant(tenant)
    reader = LogReader(engine)

    def signed() -> StoredCheckpoint:
        return sign_now(engine, settings) if settings.seal else newest(reader, settings)

    until = signed()
    for _ in range(TRIES):
        out.seek(0)
        out.truncate()
        with bar("exporting", until.size) as progress:
            for size, lines in exported(reader, until, tenant=tenant):
                out.write(lines)
                progress(size)
        later = signed()
        if not redacted_since(reader, until):
            return until
        until = later
    raise NotSealed(
        "redactions come faster than the log can be exported, or are not signed for yet; try again"
    )


def _verify_file(file: Path, key: VerifierKey, checkpoints: Path | None, asked: Format | None) -> bool:
    with on_disk(file) as place, place.open("rb") as opened, _kept_in(checkpoints, key) as kept:
        document = _proof_in(opened)
        if document is not None:
            return _verify_proof(document, key, asked, None if checkpoints is None else kept)
        with bar("verifying", place.stat().st_size) as progress:
            report = verify_export(_counted(opened, progress), key, kept=kept)
    _tell(report, report.fault, asked)
    return report.fault is not None


def _verify_proof(
    document: dict[str, object], key: VerifierKey, asked: Format | None, kept: Iterator[str] | None
) -> bool:
    try:
        signed = check_proof(document, key)
        compared = 0 if kept is None else check_kept(signed, key, kept)
    except EvidenceRefused as error:
        told: dict[str, object] = {"ok": False, "fault": {"code": error.code, "message": str(error)}}
    else:
        if kept is not None and not compared:
            covered = counted(signed.size, "event")
            raise InvalidRequest(
                f"--checkpoints: none that was kept covers just {covered}, as the proof's own does, so they say "
                "nothing of it: take one of that size, or an export"
            )
        told = {"ok": True, "index": document["index"], "origin": signed.origin, "size": signed.size}
        told |= {"redacted": document["payload"] is None, "kept": compared, "fault": None}
    if chosen(asked) is Format.JSON:
        write_line(told)
    elif told["ok"]:
        say("the event is proved" + (", and its payload is not shown: redacted" if told["redacted"] else ""))
    else:
        say(f"not proved: {told['fault']}")
    return not told["ok"]


@contextmanager
def _kept_in(place: Path | None, key: VerifierKey) -> Iterator[Iterator[str]]:
    if place is None:
        yield iter(())
        return
    with on_disk(place) as there:
        yield kept_notes(there, key.name)


def _verify_database(key: str | None, checkpoints: Path | None, asked: Format | None) -> bool:
    settings = Settings()
    trusted = verifier_key(settings) if key is None else _key(key)
    with database(settings, "commitgate-cli", (Duty.RECONCILER,)) as engine:
        reader = LogReader(engine)
        # By the name of the key: what the database calls its log is a part of what is checked.
        own = CheckpointFile(settings.checkpoints_folder, trusted.name.rpartition("/")[2]).path
        if checkpoints is None and not own.exists():
            say(f"no checkpoints were kept in {own.parent}: nothing outside the database is compared")
        # What was kept first: what is signed meanwhile is in the database already.
        with _kept_in(checkpoints, trusted) as named:
            if checkpoints is None and own.exists():
                named = kept_notes(own, trusted.name, needed=False)
            until = reader.checkpoint()
            with bar("verifying", 0 if until is None else until.size) as progress:
                found = check_database(engine, until, trusted, named, progress)
    _tell(found.report, found.fault, asked, sealed=found.size)
    return found.fault is not None


def _tell(report: Report, fault: Fault | None, asked: Format | None, **more: object) -> None:
    told = asdict(report) | {"root": report.root.hex(), "fault": None if fault is None else asdict(fault)}
    told = {"ok": fault is None, **told, **more}
    if chosen(asked) is Format.JSON:
        write_line(told)
        return
    for name, value in told.items():
        if name != "fault":
            say(f"{name:>12}  {value}")
    if fault is None:
        say("all is well")
    else:
        bad = (
            f"event {fault.index}"
            if fault.until == fault.index + 1
            else f"events {fault.index} to {fault.until}"
        )
        say(f"wrong: {fault.code} at {bad}: {fault.message}")


def _key(text: str) -> VerifierKey:
    try:
        place = Path(text)
        with suppress(OSError):
            # A pipe is as good as a file.
            if place.exists() and not place.is_dir():
                with place.open("rb") as file:
                    text = file.read(_HEAD).decode()
        return VerifierKey.parse(text)
    except (KeyRefused, UnicodeDecodeError) as error:
        raise InvalidRequest(f"--key: {error}") from error


def _proof_in(file: BinaryIO) -> dict[str, object] | None:
    """The document where the file holds a proof of one event; else it stands at its beginning again."""
    head = file.read(_HEAD)
    if PROOF_FORMAT.encode() in head:
        with suppress(ValueError, RecursionError):
            document = json.loads(head + file.read(_PROOF_BYTES))
            if isinstance(document, dict):
                return document
    file.seek(0)
    return None


def _counted(lines: BinaryIO, progress: Callable[[int], None]) -> Iterator[bytes]:
    done = told = 0
    for line in lines_of(lines):
        yield line
        done += len(line)
        if done - told > _TELL:
            told = done
            progress(done)
