"""Bodies that no operation takes: a 4xx with a code, and not a row more in any table."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.gateway.http.front import BODY_LIMIT, Body, problem
from tests.gateway.http.front import front as running_front
from tests.gateway.http.stage import OPERATIONS, Stage, set_up, unchanged
from tests.postgres import TestDatabase

JSON = {"Content-Type": "application/json"}


def _with(body: Body, literal: str) -> bytes:
    return b'{"zz": ' + literal.encode("utf-8", "surrogatepass") + b", " + json.dumps(body).encode()[1:]


# Texts that no operation takes: the raw body made from one that would be taken, status and code.
TEXTS: dict[str, tuple[Callable[[Body], bytes], int, str]] = {
    "empty": (lambda body: b"", 400, "malformed_json"),
    "cut off": (lambda body: json.dumps(body).encode()[:-1], 400, "malformed_json"),
    "trailing": (lambda body: json.dumps(body).encode() + b"x", 400, "malformed_json"),
    "not json": (lambda body: b"\x1f\x8b", 422, "invalid_text"),
    "invalid UTF-8": (
        lambda body: _with(body, '"').replace(b'"zz": "', b'"zz": "\xff"'),
        422,
        "invalid_text",
    ),
    "overlong UTF-8": (lambda body: _with(body, '"?"').replace(b"?", b"\xc0\x80"), 422, "invalid_text"),
    "surrogate in UTF-8": (lambda body: _with(body, '"\ud800"'), 422, "invalid_text"),
    "lone surrogate": (lambda body: _with(body, '"\\ud800"'), 422, "invalid_text"),
    "lone surrogate in a name": (lambda body: _with(body, '{"\\udfff": 1}'), 422, "invalid_text"),
    "NUL": (lambda body: _with(body, '"a\\u0000b"'), 422, "invalid_text"),
    "NUL in a name": (lambda body: _with(body, '{"a\\u0000b": 1}'), 422, "invalid_text"),
    "raw NUL": (lambda body: _with(body, '"a\0b"'), 400, "malformed_json"),
    "duplicate name": (lambda body: _with(body, '1, "zz": 2'), 422, "json_duplicate_name"),
    "NaN": (lambda body: _with(body, "NaN"), 422, "json_not_finite"),
    "Infinity": (lambda body: _with(body, "-Infinity"), 422, "json_not_finite"),
    "too large a number": (lambda body: _with(body, "1e999"), 422, "json_not_finite"),
    "too large an integer": (lambda body: _with(body, str(2**53)), 422, "json_integer_range"),
    "thousands of digits": (lambda body: _with(body, "9" * 5000), 422, "json_integer_range"),
    "too deep": (lambda body: _with(body, "[" * 65 + "]" * 65), 422, "json_too_deep"),
    "very deep": (lambda body: b"[" * 100_000, 422, "json_too_deep"),
    "huge": (lambda body: _with(body, '"' + "x" * BODY_LIMIT + '"'), 413, "body_too_large"),
    "BOM": (lambda body: b"\xef\xbb\xbf" + json.dumps(body).encode(), 400, "malformed_json"),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("text", TEXTS)
def test_texts_that_are_not_taken(stage: Stage, operation: str, text: str) -> None:
    make, *expected = TEXTS[text]
    asked = OPERATIONS[operation]
    answer = unchanged(stage, "POST", asked.path(stage), content=make(asked.body(stage)), headers=JSON)
    assert problem(answer) == tuple(expected)


STRANGE: tuple[Any, ...] = (None, True, 1, -1, 1.5, "x", "", [], [1], {}, {"x": 1})


@pytest.mark.parametrize("operation", OPERATIONS)
def test_values_of_other_types(stage: Stage, operation: str) -> None:
    """Every value of the body, at every depth, replaced by values of other types; the whole body too."""
    asked = OPERATIONS[operation]
    groups = [("", list(STRANGE)), *_strange_bodies(asked.body(stage), asked.loose)]
    assert len(groups) >= 3
    for where, bodies in groups:
        before = stage.front.rows()
        for body in bodies:
            status, _code = problem(stage.front.client.post(asked.path(stage), json=body))
            assert 400 <= status < 500, (where, body)
        assert stage.front.rows() == before, where


def _strange_bodies(body: Body, loose: frozenset[str]) -> Iterator[tuple[str, list[Body]]]:
    """For each place in ``body``: its path, and the bodies that have a value of another type there."""
    for path, value in _values(body, ()):
        if path[0] in loose or (path[0] in ("sampling", "labels", "arguments") and len(path) > 1):
            continue
        strange = [x for x in STRANGE if type(x) is not type(value) and not _optional(path, x)]
        yield "/".join(map(str, path)), [_replaced(body, path, x) for x in strange]


def _replaced(body: Body, path: tuple[Any, ...], value: Any) -> Body:
    changed = copy.deepcopy(body)
    holder: Any = changed
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return changed


def _values(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*path, step), inner
        yield from _values(inner, (*path, step))


_MAY_BE_NULL = {
    "commit_key", "binding", "branches", "branches_mode", "parent", "prompt", "ids", "sampling", "labels", "tool_calls",
    "batch_id", "id", "token", "call_id", "arguments_digest",
}  # fmt: skip


def _optional(path: tuple[Any, ...], strange: Any) -> bool:
    return strange is None and path[-1] in _MAY_BE_NULL


@pytest.mark.parametrize("operation", OPERATIONS)
def test_members_that_are_unknown_or_missing(stage: Stage, operation: str) -> None:
    asked = OPERATIONS[operation]
    body = asked.body(stage)
    answer = unchanged(stage, "POST", asked.path(stage), json={**body, "zz": 1})
    assert problem(answer) in {(422, "invalid_request"), (422, "invalid_effects")}
    required = {
        "openStream": ["tool_calls"],
        "writeEvents": ["writer_epoch", "events"],
        "postIntent": ["span", "tool", "arguments", "round"],
        "resolveDoubt": ["as", "reason"],
        "decideApproval": ["decision", "reason"],
        "applyEffects": ["tools"],
    }
    for name in required[operation]:
        answer = unchanged(
            stage, "POST", asked.path(stage), json={k: v for k, v in body.items() if k != name}
        )
        assert 400 <= problem(answer)[0] < 500, name


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_bodies_above_would_be_taken(database: TestDatabase, operation: str) -> None:
    """The negative control: unspoilt, each body is taken; so it is the spoiling that the cases above see refused."""
    with running_front(database) as own:
        made = set_up(own)
        before = own.rows()
        answer = own.client.post(OPERATIONS[operation].path(made), json=OPERATIONS[operation].body(made))
        assert answer.status_code in (200, 201, 202), answer.text
        assert own.rows() != before
