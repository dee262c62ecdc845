"""Whether a statement asks each hot table for shards: parsed, block by block, never by searching its text.

A table is asked for shards where what must hold of its rows (WHERE, and ON of a join) makes its shard equal to something
that is no column of another unbound hot table: a parameter, a list, a row of another source, of an outer block. A
comparison of rows that begins with the shard counts too: it is how pages are read in the order of the key.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tests.lint.exceptions import LED_BY

SCHEMA = "ledger"
_BLOCKS = (exp.Select, exp.Update, exp.Delete, exp.Insert, exp.Merge, exp.Copy)
_EQUALITIES = (exp.EQ, exp.NullSafeEQ)
_ORDERS = (exp.GT, exp.GTE, exp.LT, exp.LTE)
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


class Unreadable(Exception):
    """A statement that names a hot table and cannot be parsed."""


def unbound(statement: str, hot: Collection[str]) -> list[str]:
    """A finding for each hot table that ``statement`` asks without a shard. Raises Unreadable."""
    if not _mentions(statement, hot):
        return []
    try:
        parsed = sqlglot.parse(_PLACEHOLDER.sub(r":\1", statement), read="postgres")
    except SqlglotError as error:
        raise Unreadable(str(error)) from error
    findings: list[str] = []
    for tree in parsed:
        if tree is None:
            continue
        if isinstance(tree, exp.Command):
            raise Unreadable(f"not understood: {tree.sql()}")
        for block in tree.find_all(*_BLOCKS):
            findings += _of_block(block, hot)
    return findings


def tables(statement: str) -> set[tuple[str, str]]:
    """(verb, table) for each table of the schema that a statement writes or reads; empty where it cannot be parsed."""
    try:
        parsed = sqlglot.parse(_PLACEHOLDER.sub(r":\1", statement), read="postgres")
    except SqlglotError:
        return set()
    found = set()
    for tree in parsed:
        for table in tree.find_all(exp.Table) if tree is not None else ():
            if table.db == SCHEMA:
                block = table.find_ancestor(*_BLOCKS)
                target = block is not None and table in _targets(block)
                found.add((block.key if target and block is not None else "select", table.name))
    return found


def _mentions(statement: str, hot: Collection[str]) -> bool:
    return any(re.search(rf"\b{re.escape(name)}\b", statement) for name in hot)


def _of_block(block: exp.Expr, hot: Collection[str]) -> Iterator[str]:
    if isinstance(block, exp.Merge):
        yield "MERGE is not looked into: write INSERT or UPDATE"
    if isinstance(block, exp.Insert | exp.Copy):
        yield from _of_rows(block, hot)
        return
    own = _own_tables(block, hot)
    if not own:
        return
    bound = _Bindings(own, [source.alias_or_name for source in _sources(block)]).of(block)
    for name, table in own.items():
        if name not in bound:
            yield f"{table} is asked without a shard"


def _of_rows(block: exp.Insert | exp.Copy, hot: Collection[str]) -> Iterator[str]:
    """Rows that are written name their shard; what decides between old and new rows does too."""
    schema = block.this
    target = schema.this if isinstance(schema, exp.Schema) else schema
    if not isinstance(target, exp.Table) or target.name not in hot or target.db not in ("", SCHEMA):
        return
    named = [column.name for column in schema.expressions] if isinstance(schema, exp.Schema) else []
    if "shard" not in named:
        yield f"{target.name}: rows are written without naming their shard"
    conflict = block.args.get("conflict")
    keys = conflict.args.get("conflict_keys") if conflict is not None else None
    if keys and "shard" not in [column.name for key in keys for column in key.find_all(exp.Column)]:
        yield f"{target.name}: ON CONFLICT does not name the shard"


def _targets(block: exp.Expr) -> list[exp.Expr]:
    target = block.this if isinstance(block, exp.Update | exp.Delete | exp.Insert | exp.Copy) else None
    return [target.this if isinstance(target, exp.Schema) else target] if target is not None else []


def _sources(block: exp.Expr) -> Iterator[exp.Expr]:
    """Tables, sub-selects and functions that stand in FROM, JOIN, USING or as the target of this very block."""
    kinds = (exp.Table, exp.Subquery, exp.Lateral, exp.Unnest, exp.Values)
    if isinstance(block, exp.Update | exp.Delete):
        yield block.this
    for place in (block.args.get("from_"), block.args.get("using"), *(block.args.get("joins") or ())):
        for clause in place if isinstance(place, list) else [place]:
            if not clause:
                continue
            source = clause if isinstance(clause, kinds) else clause.this
            yield source
            for join in source.args.get("joins") or ():
                yield join.this
    yield from block.args.get("laterals") or ()


def _own_tables(block: exp.Expr, hot: Collection[str]) -> dict[str, str]:
    ctes = {cte.alias for cte in block.root().find_all(exp.CTE)}
    return {
        source.alias_or_name: source.name
        for source in _sources(block)
        if isinstance(source, exp.Table)
        and isinstance(source.this, exp.Identifier)
        and source.name in hot
        and (source.db == SCHEMA or (source.db == "" and source.name not in ctes))
    }


@dataclass
class _Bindings:
    """Which of a block's hot tables (``own``: alias to table) have a shard given. ``sources``: aliases of all sources."""

    own: dict[str, str]
    sources: list[str]

    def of(self, block: exp.Expr) -> set[str]:
        where = block.args.get("where")
        bound, pairs = self._held(where.this) if where is not None else (set(), [])
        # (one, other): where the other's shard is given, so is the one's.
        carried = [*pairs, *((other, one) for one, other in pairs)]
        for join in self._joins(block):
            name, side = join.this.alias_or_name, (join.args.get("side") or "").upper()
            found, pairs = self._held(join.args["on"]) if join.args.get("on") is not None else (set(), [])
            if any(column.name == "shard" for column in join.args.get("using") or ()):
                pairs = [(name, one) for one in self.sources if one != name]
            pairs += [(other, one) for one, other in pairs]
            if side:
                # An outer join keeps the rows of one side whatever its condition says.
                found = found & {name} if side == "LEFT" else set()
                pairs = [pair for pair in pairs if pair[0] == name] if side == "LEFT" else []
            bound |= found
            carried += pairs
        return self._closed(bound, carried)

    def _joins(self, block: exp.Expr) -> Iterator[exp.Expr]:
        yield from block.args.get("joins") or ()
        for source in _sources(block):
            yield from source.args.get("joins") or ()

    def _closed(self, bound: set[str], carried: list[tuple[str, str]]) -> set[str]:
        """Equality carries a shard on; a source that is no hot table of this block has one."""
        before = -1
        while before != len(bound):
            before = len(bound)
            bound |= {
                one
                for one, other in carried
                if one in self.own and one != other and (other in bound or other not in self.own)
            }
        return bound

    def _held(self, condition: exp.Expr) -> tuple[set[str], list[tuple[str, str]]]:
        """(tables with a given shard, pairs with equal shards) of what must hold."""
        if isinstance(condition, exp.Paren):
            return self._held(condition.this)
        if isinstance(condition, exp.And):
            left, right = self._held(condition.left), self._held(condition.right)
            return left[0] | right[0], left[1] + right[1]
        if isinstance(condition, exp.Or):
            return self._held(condition.left)[0] & self._held(condition.right)[0], []
        if isinstance(condition, exp.In):
            own = self._shard_of(condition.this)
            return ({own} if own else set()), []
        if isinstance(condition, (*_EQUALITIES, *_ORDERS)):
            return self._compared(condition)
        return set(), []

    def _compared(self, condition: exp.Expr) -> tuple[set[str], list[tuple[str, str]]]:
        left, right = condition.left, condition.right
        if isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
            pairs = zip(left.expressions, right.expressions, strict=False)
            compared = list(pairs) if isinstance(condition, _EQUALITIES) else list(pairs)[:1]
        else:
            compared = [(left, right)] if isinstance(condition, _EQUALITIES) else []
        bound = {name for side in (left, right) if (name := self._placed(side))}
        equal: list[tuple[str, str]] = []
        for one, other in compared:
            here, there = self._shard_of(one), self._shard_of(other)
            if here and there:
                equal.append((here, there))
            elif here or there:
                rest = other if here else one
                if not any(self._shard_of(column) for column in rest.find_all(exp.Column)):
                    bound.add(here or there or "")
        return bound, equal

    def _shard_of(self, expression: exp.Expr) -> str | None:
        """The hot table of this block whose shard the expression is."""
        inner = expression.unnest()
        if not isinstance(inner, exp.Column) or inner.name != "shard":
            return None
        return self._source_of(inner)

    def _placed(self, expression: exp.Expr) -> str | None:
        """The table of this block whose place in the log the expression is."""
        inner = expression.unnest()
        source = self._source_of(inner) if isinstance(inner, exp.Column) else None
        return source if source and LED_BY.get(self.own[source]) == inner.name else None

    def _source_of(self, column: exp.Column) -> str | None:
        if column.table:
            return column.table if column.table in self.own else None
        return next(iter(self.own)) if len(self.sources) == 1 else None
