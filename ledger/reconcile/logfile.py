"""Reading a tool's own log, line by line: JSON lines or CSV.

A line tells one request: ``{"tool", "commit_key", "intent_id", "idempotency_key"?, "arguments"?, "effect"?, "at"?}``.
``arguments`` is the body's text, or the object itself. ``effect``: whether the tool's data changed. ``at``: seconds since
1970, or an ISO 8601 time. Names that are not listed are passed over. CSV has the same names in its first row.

A log may also write two lines for a request, tied by ``n``: ``{"line": "received", "n", ...}`` as above, and
``{"line": "handled" | "effect", "n", "effect"?}`` with what came of it (a bare ``effect`` line says that data changed).
"""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ledger.errors import ToolLogRefused
from ledger.reconcile.evidence import LogEntry

_AFTER = frozenset({"handled", "effect"})
_TRUE = frozenset({"true", "1", "yes", "t"})
_FALSE = frozenset({"false", "0", "no", "f"})


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request that came. ``n``: ties it to what came of it later; None where its own line says all."""

    entry: LogEntry
    n: str | None


@dataclass(frozen=True, slots=True)
class Handled:
    """What came of request ``n``: whether the tool's data changed."""

    n: str
    effect: bool | None


def read_log(path: Path) -> Iterator[Arrived | Handled]:
    """The lines of the log at ``path``, in order; a half line at the very end, left by a crash, is passed over.

    ``.csv`` is read as CSV, anything else as JSON lines. Raises ``ToolLogRefused``.
    """
    lines = _csv_lines(path) if path.suffix.lower() == ".csv" else _json_lines(path)
    try:
        for number, fields in lines:
            yield _line(path, number, fields)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ToolLogRefused(str(path), str(error)) from error


def _json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            try:
                fields = json.loads(raw)
            except (ValueError, RecursionError) as error:
                if not raw.endswith(b"\n"):
                    return
                raise ToolLogRefused(str(path), "it is no JSON", number) from error
            if not isinstance(fields, dict):
                raise ToolLogRefused(str(path), "it is no JSON object", number)
            yield number, fields


def _csv_lines(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file, restkey="", strict=True)
        if "tool" not in (rows.fieldnames or ()):
            raise ToolLogRefused(str(path), "its first row has to name the columns, tool among them")
        for fields in rows:
            yield rows.line_num, {name: value or None for name, value in fields.items()}


def _line(path: Path, number: int, fields: Mapping[str, object]) -> Arrived | Handled:
    try:
        n = None if fields.get("n") is None else str(fields["n"])
        if fields.get("line") in _AFTER and n is not None:
            return Handled(n, _effect(fields.get("effect", fields["line"] == "effect" or None)))
        entry = LogEntry(
            line=number,
            tool=_text(fields, "tool"),
            commit_key=_text(fields, "commit_key"),
            intent_id=_text(fields, "intent_id"),
            idempotency_key=_text(fields, "idempotency_key"),
            arguments=_arguments(fields.get("arguments")),
            effect=_effect(fields.get("effect")),
            at=_time(fields.get("at")),
        )
    except ValueError as error:
        raise ToolLogRefused(str(path), str(error), number) from error
    return Arrived(entry, n if fields.get("line") == "received" else None)


def _text(fields: Mapping[str, object], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} is a text or null")
    return value


def _arguments(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _effect(value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    spelled = str(value).strip().lower()
    if spelled in _TRUE:
        return True
    if spelled in _FALSE:
        return False
    raise ValueError("effect is true, false or null")


def _time(value: object) -> float | None:
    if value is None or isinstance(value, int | float):
        return None if value is None else float(value)
    text = str(value)
    try:
        return float(text)
    except ValueError:
        parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is None:
        raise ValueError("at needs an offset from UTC")
    return parsed.timestamp()
