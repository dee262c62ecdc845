"""What statements came to, as replies: rows are an answer, a refusal of the database is the tool's own."""

from collections.abc import Callable

from effects.canonical import canonical
from effects.intent import ResultStatus
from effects.statements import COMMIT_KEY, IDEMPOTENCY_KEY, INTENT_ID, Statements
from effects.strict_json import JSONRefused, parse
from gateway.turn.dispatching import Assignment
from gateway.upstream.content import truncated
from gateway.upstream.port import Answered, Layer, NotSent
from ledger.rows import Found
from ledger.statements import Failed, Undone

Run = Callable[[Statements, dict[str, object]], Found | Failed | Undone]
"""Runs statements with the parameters that they name."""


def replied(call: Assignment, run: Run) -> Answered | NotSent:
    """The reply to ``call``, whose statements ``run`` runs. What is missing is refused before anything runs."""
    statements = call.upstream.postgres
    if statements is None:
        return NotSent("not_a_postgres_tool", lasting=True)
    try:
        arguments = parse(call.arguments_raw)
    except JSONRefused:
        return NotSent("arguments_refused", lasting=True)
    if not isinstance(arguments, dict):
        return NotSent("arguments_refused", lasting=True)
    missing = sorted(statements.needed - arguments.keys())
    if missing:
        return _refusal({"because": "argument_missing", "argument": missing[0]})
    own = {
        COMMIT_KEY: call.commit_key,
        INTENT_ID: call.intent_id,
        IDEMPOTENCY_KEY: call.idempotency_key,
    }
    found = run(statements, {**arguments, **own})
    if isinstance(found, Undone):
        return NotSent(found.because, found.detail, lasting=found.lasting)
    if isinstance(found, Failed):
        said = {"sqlstate": found.sqlstate, "message": found.message, "constraint": found.constraint}
        return _refusal({name: value for name, value in said.items() if value is not None})
    return Answered(ResultStatus.OK, _content(found, call.max_result))


def _refusal(content: dict[str, object]) -> Answered:
    return Answered(ResultStatus.TOOL_ERROR, content, Layer.TOOL)


def _content(found: Found, limit: int) -> object:
    content = {"rows": found.rows, "count": found.count}
    spelled = canonical(content)
    return content if len(spelled) <= limit and not found.cut else truncated(spelled, limit)
