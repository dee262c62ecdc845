"""Which calls wait for a person, as the table says it; and the one language of conditions."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from effects.approval import ApprovalRule, Because
from effects.errors import EffectTableRefused
from effects.rules import Condition, Verdict
from effects.table import EffectTable

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_required_asks_always_and_a_condition_where_it_is_not_plainly_false() -> None:
    assert ApprovalRule.parse("required").asks({}, NOON) is Because.REQUIRED
    rule = ApprovalRule.parse("amount > 100")
    assert rule.asks({"amount": 100}, NOON) is None
    for arguments in ({"amount": 101}, {}, {"amount": "1"}, {"amount": None}, None):
        assert rule.asks(arguments, NOON) is Because.CONDITION


def test_a_condition_over_the_time_is_judged_at_the_time_that_is_given() -> None:
    rule = ApprovalRule.parse("now.getHours() >= 18 || timestamp(due) < now + duration('1h')")
    due = (NOON + timedelta(hours=2)).isoformat()
    assert rule.asks({"due": due}, NOON) is None
    assert rule.asks({"due": due}, NOON + timedelta(minutes=61)) is Because.CONDITION
    assert rule.asks({"due": due}, NOON.replace(hour=18)) is Because.CONDITION
    tokyo = timezone(timedelta(hours=9))
    assert rule.asks({"due": due}, NOON.astimezone(tokyo)) is None  # the same moment


def test_the_kept_names_are_never_arguments() -> None:
    condition = Condition.compile("now > timestamp('2026-01-01T00:00:00Z') && result.status == 'done'")
    given = {"now": "1999-01-01T00:00:00Z", "result": {"status": "done"}}
    assert condition.judge(given) is Verdict.MISSING
    assert condition.judge(given, now=NOON) is Verdict.MISSING
    assert condition.judge(given, now=NOON, result={"status": "done"}) is Verdict.TRUE
    assert condition.judge({}, now=NOON, result={"status": "open"}) is Verdict.FALSE
    assert condition.judge({}, now=NOON, result=None) is not Verdict.TRUE
    assert Condition.compile("arguments['now'] == 'x'").judge({"now": "x"}) is Verdict.TRUE


def test_a_result_is_not_known_before_sending() -> None:
    with pytest.raises(ValueError, match="'result' is not known"):
        ApprovalRule.parse("result.status == 'open'")


def test_a_table_keeps_the_spelling_and_the_expiry() -> None:
    line = "tools: {{t: {{effect: WRITE, upstream: {{http: 'http://a/b'}}, {more}}}}}"
    table = EffectTable.parse(line.format(more="approval: 'amount > 100', approval_expires: 90s"))
    tool = table.tools["t"]
    assert (str(tool.approval), tool.approval_seconds) == ("amount > 100", 90.0)
    assert EffectTable.from_document(table.document()) == table
    assert EffectTable.parse(line.format(more="approval: required")).tools["t"].approval_seconds == 3600.0
    with pytest.raises(EffectTableRefused) as refused:
        EffectTable.parse(line.format(more='approval: "result == 1"'))
    assert refused.value.path == "tools.t.approval"
