"""The SQL objects that are no tables: schemas, roles, functions, views, triggers, grants, owners; one a file under ``sql/``.

Functions of a table's rows (``row_functions``) come after the tables, all others before them.

A new revision that changes a function runs ``source("functions", NAME)`` again (``create or replace``); one
that adds an object names it. ``in_order()`` is all as it is today, to build a database without revisions.
"""

from pathlib import Path

_ROOT = Path(__file__).parent / "sql"

BEFORE_TABLES = ("schemas", "roles", "functions")
AFTER_TABLES = ("row_functions", "views", "triggers", "grants", "owners")


def source(kind: str, name: str) -> str:
    """The statements of one object. ``kind`` is its folder. FileNotFoundError where there is none."""
    return (_ROOT / kind / f"{name}.sql").read_text(encoding="utf-8")


def in_order(kinds: tuple[str, ...]) -> list[str]:
    """The statements of all objects of ``kinds``, by kind, then by name."""
    return [
        path.read_text(encoding="utf-8") for kind in kinds for path in sorted((_ROOT / kind).glob("*.sql"))
    ]
