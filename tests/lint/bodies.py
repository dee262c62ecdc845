"""The statements inside functions and views: what the database runs without a client's asking for it.

PL/pgSQL is cut into its statements by its tokens: from a word that begins one to the semicolon, LOOP or THEN behind it,
or to the parenthesis that closes around it.
"""

from collections.abc import Iterator
from typing import Any

import psycopg
import sqlglot
from sqlglot.tokens import Token, TokenType

_FUNCTIONS = """
select p.oid::regprocedure::text, l.lanname, coalesce(pg_get_function_sqlbody(p.oid), p.prosrc)
from pg_proc p join pg_language l on l.oid = p.prolang join pg_namespace n on n.oid = p.pronamespace
where n.nspname in ('ledger', 'audit') and l.lanname in ('sql', 'plpgsql') order by 1
"""
_VIEWS = """
select c.oid::regclass::text, pg_get_viewdef(c.oid, true) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('ledger', 'audit') and c.relkind in ('v', 'm') order by 1
"""
_BEGIN = {"select", "insert", "update", "delete", "with", "merge", "copy", "perform"}
_NO_BEGINNING = {"for", "do", "on", "key", "or", "before", "after"}
"""Words after which a word of ``_BEGIN`` begins nothing: FOR UPDATE, DO UPDATE, NO KEY UPDATE."""

_TEXTS = {
    TokenType.STRING,
    TokenType.IDENTIFIER,
    TokenType.HEREDOC_STRING,
    TokenType.BYTE_STRING,
    TokenType.UNICODE_STRING,
}

DYNAMIC = "execute of text that is put together"


def statements(connection: "psycopg.Connection[Any]") -> Iterator[tuple[str, str]]:
    """(where it stands, statement) for each function and view of the schemas; ``DYNAMIC`` for what cannot be read."""
    for name, language, body in connection.execute(_FUNCTIONS).fetchall():
        found = [body] if language == "sql" else of_plpgsql(body)
        yield from ((f"function {name}", statement) for statement in found)
    for name, body in connection.execute(_VIEWS).fetchall():
        yield f"view {name}", body


def of_plpgsql(body: str) -> Iterator[str]:
    """The statements of one PL/pgSQL body, each without what PL/pgSQL adds to it (PERFORM, INTO)."""
    tokens = sqlglot.tokenize(body, read="postgres")
    words = ["" if token.token_type in _TEXTS else token.text.lower() for token in tokens]
    place = 0
    while place < len(tokens):
        before = words[place - 1] if place else ""
        if words[place] == "execute":
            yield DYNAMIC
        if words[place] in _BEGIN and before not in _NO_BEGINNING:
            end = _end(words, place)
            yield _text(body, tokens[place:end], words[place:end])
            place = end
        place += 1


def _end(words: list[str], start: int) -> int:
    depth = cases = 0
    for place in range(start, len(words)):
        word = words[place]
        depth += (word == "(") - (word == ")")
        cases += (word == "case") - (word == "end" and cases > 0)
        if depth < 0 or (depth == 0 and (word in (";", "loop") or (word == "then" and cases == 0))):
            return place
    return len(words)


def _text(body: str, tokens: list[Token], words: list[str]) -> str:
    """The source text of ``tokens``, without variables that a result goes INTO."""
    kept, skipping = [], False
    for place, (token, word) in enumerate(zip(tokens, words, strict=True)):
        if word == "into" and words[place - 1] != "insert":
            skipping = True
        elif skipping and word in ("from", "where", "using", "order", "limit", "for"):
            skipping = False
        if not skipping:
            source = body[token.start : token.end + 1]
            kept.append("select" if word == "perform" else source)
    return " ".join(kept)
