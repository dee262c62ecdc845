"""Tools that are SQL, and Python functions, as a table says them."""

import pytest

from effects.errors import EffectTableRefused
from effects.statements import OWN, Statements, parameters
from effects.table import EffectTable
from effects.upstream import Server, Upstream, runs_locally


def table(upstream: str) -> EffectTable:
    return EffectTable.parse(f"tools: {{t: {{effect: WRITE, upstream: {upstream}}}}}")


def test_names_are_read_and_percent_signs_are_escaped() -> None:
    assert parameters("update a.b set x = %(x y)s where l like '%%(z)s' and id = %(id)s") == {"x y", "id"}


@pytest.mark.parametrize(
    "statement",
    [
        "select %s",
        "select 5 % 3",
        "select %(x)d",
        "select %()s",
        "select %(commitgate/else)s",
        "commit",
        "-- select\ncommit",
        "/* select */ rollback",
        "set role postgres",
        "reset role",
        "savepoint a",
        "do $$ begin end $$",
        "copy a from '/etc/passwd'",
        "",
        "(select 1)",
    ],
)
def test_what_is_no_tools_to_say_is_refused(statement: str) -> None:
    with pytest.raises(ValueError, match=r"statement|parameter|role|character"):
        Statements(statement=statement)


@pytest.mark.parametrize(
    "statement", ["select 1", "  -- why\n /* how */ WITH x as (select 1) select * from x", "call a.b(%(x)s)"]
)
def test_what_is_a_tools_to_say_is_taken(statement: str) -> None:
    assert Statements(statement=statement).texts == (statement,)


def test_what_has_to_be_there_is_what_the_gateway_does_not_fill_in() -> None:
    told = "insert into a.b values (%(x)s, " + ", ".join(f"%({name})s" for name in sorted(OWN)) + ")"
    assert Statements(statements=("select %(y)s", told)).needed == {"x", "y"}


@pytest.mark.parametrize(
    "upstream",
    [
        "{}",
        "{http: 'http://a', python: 'a:b'}",
        "{postgres: {}}",
        "{postgres: {statement: 'select 1', statements: ['select 1']}}",
        "{postgres: {statements: []}}",
        "{postgres: {statement: 'select 1', role: 'none'}}",
        "{postgres: {statement: 'select 1', role: 'a b'}}",
        "{python: 'a'}",
        "{python: 'a:b()'}",
        "{python: '../a:b'}",
        "{postgres: {statement: 'select 1'}, env: {A: b}}",
    ],
)
def test_a_fault_is_named(upstream: str) -> None:
    with pytest.raises(EffectTableRefused) as refused:
        table(upstream)
    assert refused.value.path.startswith("tools.t.upstream")


@pytest.mark.parametrize(
    ("upstream", "kind", "name"),
    [
        ("{postgres: {statement: 'select 1', role: shop}}", "postgres", "postgres"),
        ("{python: 'a.b:c.d', env: {A: b}}", "python", "python:a.b"),
    ],
)
def test_it_is_read_back_from_its_document(upstream: str, kind: str, name: str) -> None:
    made = table(upstream)
    assert EffectTable.from_document(made.document()) == made
    judged = made.classify("t", {})
    assert judged.upstream is not None
    assert (judged.upstream.kind, judged.upstream.name) == (kind, name)


def test_what_runs_locally_is_known() -> None:
    assert runs_locally(Upstream(python="a:b"), None)
    assert runs_locally(Upstream(postgres=Statements(statement="select 1")), None)
    assert runs_locally(Upstream(mcp="a"), Server(command=("x",)))
    assert not runs_locally(Upstream(mcp="a"), Server(url="http://a/mcp"))
    assert not runs_locally(Upstream(http="http://a"), None)
