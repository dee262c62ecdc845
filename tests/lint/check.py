"""All that the lint of shards looks at, as one list of findings."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import psycopg

from migrations import objects
from tests.lint import bodies, catalogue, traffic
from tests.lint.exceptions import STATEMENTS
from tests.lint.scopes import Unreadable, unbound
from tests.postgres import TestDatabase, libpq


def findings(database: TestDatabase, folder: Path) -> list[str]:
    """Everything of a migrated database, and of what the product sends to it, that is not led by the shard."""
    with psycopg.connect(libpq(database.admin_url), autocommit=True) as connection:
        found = catalogue.read(connection)
        inside = list(bodies.statements(connection))
    sent = traffic.record(database, folder)
    told = [*inside, *(("the product", statement) for statement in sorted(sent))]
    return [*found.findings, *files(), *of_statements(told, found.hot)]


def of_statements(told: Iterable[tuple[str, str]], hot: frozenset[str]) -> Iterator[str]:
    """Findings of (where it stands, statement); ``hot``: tables whose shard has to be named."""
    excused = set()
    for where, statement in told:
        if statement == bodies.DYNAMIC:
            yield f"{where}: {bodies.DYNAMIC} cannot be read"
            continue
        try:
            problems = unbound(statement, hot)
        except Unreadable as error:
            problems = [f"cannot be read ({error})"]
        excuse = next((part for part in STATEMENTS if part in " ".join(statement.split())), None)
        if problems and excuse is not None:
            excused.add(excuse)
            continue
        yield from (f"{where}: {problem}: {_short(statement)}" for problem in problems)
    for part in STATEMENTS.keys() - excused:
        yield f"{part!r}: excepted, and no such statement lacks a shard"


def files() -> Iterator[str]:
    """Findings of the SQL files: no foreign key and no index hides in a file that no revision of today runs."""
    root = Path(objects.__file__).parent / "sql"
    for path in sorted(root.rglob("*.sql")):
        words = " ".join(path.read_text(encoding="utf-8").lower().split())
        for word in ("create index", "create unique index", "references ledger.", "foreign key"):
            if word in words:
                yield f"{path.relative_to(root)}: {word} belongs to the models, where it is looked at"


def _short(statement: str) -> str:
    words = " ".join(statement.split())
    return words if len(words) <= 300 else f"{words[:297]}..."
