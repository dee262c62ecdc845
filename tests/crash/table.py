"""The table of the matrix, as it is kept in ``bench/results``: one row a case, the newest of each."""

import fcntl
import json
import os
import platform
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.crash import plan
from tests.processes import ROOT

JSON, TEXT = ROOT / "bench" / "results" / "crash-matrix.json", ROOT / "bench" / "results" / "crash-matrix.md"
_KEY = ("upstream", "point", "class", "victim")
_SHORT = {plan.READ: "R", plan.PUT: "I", plan.WRITE: "W"}


def keep(rows: Sequence[dict[str, Any]], path: Path = JSON, text: Path = TEXT) -> None:
    """Put the rows in place of those of the same cases, under the commit and machine that they belong to."""
    with _alone(path.parent):
        _keep(rows, path, text)


def _keep(rows: Sequence[dict[str, Any]], path: Path, text: Path) -> None:
    mark = {"commit": _commit(), "at": datetime.now(UTC).isoformat(timespec="seconds")}
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": []}
    kept = {tuple(row[k] for k in _KEY): row for row in [*told["rows"], *({**row, **mark} for row in rows)]}
    machine = {"system": platform.platform(), "cores": os.cpu_count()}
    settings = {
        **{f"tool_timeout_{name}": plan.pace(name).timeout for name in (plan.HTTP, plan.PYTHON)},
        "lease_margin": plan.MARGIN,
        "sweep": plan.SWEEP,
        "late_wait": plan.LATE,
    }
    ordered = sorted(kept.values(), key=_order)
    whole = {"machine": machine, "seconds": settings, "rows": ordered}
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    text.write_text(rendered(whole), encoding="utf-8")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Workers of one run keep their rows one after the other."""
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def rendered(whole: dict[str, Any]) -> str:
    """For people: a line a fail point, a column a victim."""
    rows = whole["rows"]
    faults = sum(sum(row["faults"].values()) for row in rows)
    calls = sum(row["counts"].get("calls", 0) for row in rows)
    doubts = sum(sum(row["doubts"].values()) for row in rows)
    commits = sorted({row["commit"][:12] + row["commit"][40:] for row in rows})
    lines = [
        "# Crash matrix",
        "",
        f"SIGKILL of one process at each fail point, {len(rows)} cases, {calls} calls; {faults} faults. {doubts} calls "
        "ended in doubt and were settled by a person.",
        "",
        "A fault is: a WRITE sent twice, a call neither settled nor in doubt, two keys of one IDEMPOTENT call, a cleared "
        "read that is not final, an effect without a record or acceptance before it, an effect out of order, a stale final "
        "answer. In a cell, for each class (R, I, W): `ok` or the number of faults, and the seconds until all was at rest.",
        "",
        f"Commits: {', '.join(commits)}. Machine: {whole['machine']['cores']} cores, {whole['machine']['system']}. "
        f"Seconds: {', '.join(f'{name} {value}' for name, value in whole['seconds'].items())}.",
    ]
    for upstream in sorted({row["upstream"] for row in rows}):
        lines += [
            "",
            f"## {upstream}",
            "",
            f"| fail point | {' | '.join(plan.VICTIMS)} |",
            "|---|---|---|---|---|",
        ]
        for point in map(str, plan.WAYS):
            cells = [_cell(rows, upstream, point, victim) for victim in plan.VICTIMS]
            if any(cells):
                lines.append(f"| {point} | {' | '.join(cells)} |")
        reasons = Counter(filter(None, map(plan.lacking, plan.possible(upstream))))
        lines += ["", *(f"Not there: {number} cases; {reason}." for reason, number in reasons.items())]
    return "\n".join(lines) + "\n"


def _cell(rows: Sequence[dict[str, Any]], upstream: str, point: str, victim: str) -> str:
    said = []
    for row in rows:
        if (row["upstream"], row["point"], row["victim"]) == (upstream, point, victim):
            wrong = sum(row["faults"].values())
            said.append(f"{_SHORT[row['class']]} {wrong or 'ok'} {row['rest_seconds']:.1f}")
    return ", ".join(said)


def _order(row: dict[str, Any]) -> tuple[object, ...]:
    places = {str(point): place for place, point in enumerate(plan.WAYS)}
    return (
        row["upstream"],
        places.get(row["point"], len(places)),
        plan.VICTIMS.index(row["victim"]),
        plan.CLASSES.index(row["class"]),
    )


def _commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    # The rows that are kept meanwhile are no change of what they are about.
    changed = git("status", "--porcelain", "-uno", "--", ".", ":!bench/results")
    return git("rev-parse", "HEAD") + ("+changes" if changed else "")
