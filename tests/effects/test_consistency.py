import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effects.consistency import (
    BackendBinding,
    params_hash,
    route_after_failover,
    should_truncate_and_repropose,
    validate_post_failover_acceptance,
)
from effects.errors import SpeculativePrefixCollapseError, SpeculativeRoutingError

HOT = params_hash(0.7, 0.95, 1, "json")
COLD = params_hash(0.0, 0.95, 1, "json")


def binding(name: str, params: str = HOT, tokenizer: str = "t", block: int = 16) -> BackendBinding:
    return BackendBinding(name, tokenizer, params, block)


DRAFT, TARGET = binding("draft-a10g-02"), binding("target-h100-07")


def test_parameters_are_hashed_exactly() -> None:
    assert len(HOT) == 16
    assert params_hash(0.7, 0.95, 1, "json") == HOT
    assert (
        params_hash(math.nextafter(0.7, 1), 0.95, 1, "json") != HOT
    )  # the sketch's four digits would miss this
    assert params_hash(0.7, 0.950001, 1, "json") != HOT
    assert params_hash(0.7, 0.95, 2, "json") != HOT
    assert params_hash(0.7, 0.95, 1, "") != HOT
    assert params_hash(-0.0, 1, 1, "g") == params_hash(0, 1.0, 1, "g")
    with pytest.raises(ValueError, match="finite"):
        params_hash(math.nan, 1.0, 1, "g")


def test_the_incident_is_caught() -> None:
    stale = binding("draft-a10g-02", params=COLD)
    assert route_after_failover(stale, TARGET, 0.41, 0.94, forwarded_logits=True) == "REBIND"
    assert route_after_failover(stale, TARGET, 0.41, 0.94, forwarded_logits=False) == "REBIND"
    # The same rise between consistent parameters is a gain.
    assert route_after_failover(DRAFT, TARGET, 0.41, 0.94, forwarded_logits=True) == "LOCK"
    # Different parameters are tolerable while sampled tokens are forwarded and nothing rises.
    assert route_after_failover(stale, TARGET, 0.41, 0.43, forwarded_logits=False) == "LOCK"
    assert route_after_failover(stale, TARGET, 0.41, 0.43, forwarded_logits=True) == "REBIND"


@pytest.mark.parametrize(
    ("draft", "says"),
    [(binding("d", tokenizer="u"), "tokenizer mismatch"), (binding("d", block=32), "block size mismatch")],
)
def test_an_inconsistent_pair_is_named(draft: BackendBinding, says: str) -> None:
    with pytest.raises(SpeculativeRoutingError, match=says):
        validate_post_failover_acceptance(draft, TARGET, 0.4, 0.4, forwarded_logits=False)


@pytest.mark.parametrize("rate", [math.nan, math.inf, -0.1, 1.1])
def test_what_is_no_rate_is_not_trusted(rate: float) -> None:
    assert route_after_failover(DRAFT, TARGET, rate, 0.5, forwarded_logits=False) == "REBIND"
    assert route_after_failover(DRAFT, TARGET, 0.5, rate, forwarded_logits=False) == "REBIND"
    for rates in ((rate, 0.1), (0.9, rate)):
        with pytest.raises(SpeculativePrefixCollapseError, match="out of range"):
            should_truncate_and_repropose(rates[0], 1.0, rates[1])


@given(st.floats(0, 1), st.floats(0, 1), st.booleans(), st.booleans())
def test_a_lock_is_always_attributable(pre: float, post: float, forwarded: bool, same: bool) -> None:
    draft = DRAFT if same else binding("d", params=COLD)
    locked = route_after_failover(draft, TARGET, pre, post, forwarded) == "LOCK"
    assert locked == (same or (not forwarded and not post - pre > 0.25))


def test_the_boundary_between_sharing_and_going_alone() -> None:
    assert should_truncate_and_repropose(0.52, 1.0, 0.3)
    assert not should_truncate_and_repropose(0.52, 1.0, 0.4)
    assert not should_truncate_and_repropose(0.5, 2.5, 0.4, truncation_overhead_ratio=0.1)
    with pytest.raises(SpeculativePrefixCollapseError, match="below floor"):
        should_truncate_and_repropose(0.19, 1.0, 0.1)
    for depth in (2.6, math.nan, -1.0):
        with pytest.raises(SpeculativePrefixCollapseError, match="thrash"):
            should_truncate_and_repropose(0.9, depth, 0.1)
