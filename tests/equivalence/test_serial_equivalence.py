"""Serial equivalence (design.md, "Order, freshness, finality"): whatever was drafted, rejected, sent early and sent
again, final answers and state are those of running the accepted calls one by one."""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effects import order
from gateway.turn import scanner
from gateway.turn.scanner import BlockScanner
from ledger.tokens import Token
from tests.equivalence.simulation import draw_message, gated, naively, serially
from tests.equivalence.worlds import BANK, FILES, Setting

EXAMPLES = 5_000 if os.environ.get("COMMITGATE_TEST_LONG") else 100
SETTINGS = [pytest.param(s, id=s.name) for s in (FILES, BANK)]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "undeclared"])
@pytest.mark.parametrize("policy", ["hold", "send"])
@pytest.mark.parametrize("order", ["strict", "footprint"])
def test_final_answers_and_state_equal_serial_execution(
    setting: Setting, declared: bool, policy: str, order: str, report: Callable[[str], None]
) -> None:
    effects = setting.effects(declared=declared, reads_behind_writes=policy, write_order=order)
    counts: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(seed=st.integers(0, 2**32))
    def equal(seed: int) -> None:
        random = Random(seed)
        message = draw_message(random, setting)
        found, provoked = gated(message, setting, random, effects)
        counts.update(provoked)
        assert found == serially(message, setting)

    equal()
    report(
        f"serial equivalence, {setting.name} {policy} {order} declared={declared}: {EXAMPLES} messages, {dict(counts)}"
    )
    assert counts["voided"] > 0
    assert counts["early"] > 0
    assert counts["adopted"] > 0
    if policy == "send":
        assert counts["stale"] > 0


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_naive_orchestrator_is_not_serially_equivalent(setting: Setting) -> None:
    failed = 0
    for seed in range(200):
        random = Random(seed)
        message = draw_message(random, setting)
        failed += naively(message, setting, random) != serially(message, setting)
    assert failed > 20


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("overtaken_by", lambda read, others: None),
        ("earlier_terminal", lambda call, others, strict_writes: True),
    ],
    ids=["stale-answers-are-final", "nothing-waits"],
)
def test_a_gate_without_order_or_freshness_fails_the_same_property(
    setting: Setting, rule: str, broken: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, rule, broken)
    effects = setting.effects(declared=True, reads_behind_writes="send", write_order="strict")
    failed = 0
    for seed in range(150):
        random = Random(seed)
        message = draw_message(random, setting)
        failed += gated(message, setting, random, effects)[0] != serially(message, setting)
    assert failed > 3


def test_a_scanner_that_keeps_tokens_that_were_never_written_fails_the_same_property(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def trusting(self: BlockScanner, name: object, detector: object, accepted: tuple[Token, ...]) -> object:
        kept = self._kept.get(name)  # type: ignore[call-overload]
        if kept is None or len(kept.tokens) > len(accepted):
            kept = scanner._Scanned((), detector.start(), ())  # type: ignore[attr-defined]
        scanned = scanner._feed(detector, kept, accepted[len(kept.tokens) :])  # type: ignore[arg-type]
        self._kept[name] = replace(scanned, tokens=accepted)  # type: ignore[index]
        return self._kept[name]  # type: ignore[index]

    monkeypatch.setattr(BlockScanner, "_advance", trusting)
    effects = FILES.effects(declared=True, reads_behind_writes="send", write_order="strict")
    failed = 0
    for seed in range(120):
        random = Random(seed)
        message = draw_message(random, FILES)
        try:
            failed += gated(message, FILES, random, effects)[0] != serially(message, FILES)
        except AssertionError:
            failed += 1  # calls that nobody made never came to an end
    assert failed > 2
