"""Whether an acceptance rate may steer anything: the pure functions of the spec's sketches.

Sources: failover-acceptance-spike.md (a spike after a failover), heterogeneous-drafters.md (a shared prefix
that does negative work). Signatures and outcomes are theirs. Two things are stricter: parameters are hashed
exactly (design.md, "Decoding"), where the sketch rounds to four digits, and a rate that is no probability is
never trusted, where the sketches let NaN pass.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import Literal

from effects.errors import SpeculativePrefixCollapseError, SpeculativeRoutingError

SPIKE = 0.25
"""A rise of acceptance above this, over the paired baseline, must be attributed before it may count."""


@dataclass(frozen=True, slots=True)
class BackendBinding:
    """One backend as it is bound now. ``params_hash`` is that of ``params_hash()``; ``kv_block_size`` in
    tokens.
    """

    backend_id: str
    tokenizer_hash: str
    params_hash: str
    kv_block_size: int


def params_hash(temperature: float, top_p: float, seed: int, grammar_id: str) -> str:
    """16 hex digits that differ whenever one of the sampling parameters does, however little.

    Raises ValueError if ``temperature`` or ``top_p`` is not finite.
    """
    if not (math.isfinite(temperature) and math.isfinite(top_p)):
        raise ValueError("sampling parameters are finite numbers")
    # + 0.0 makes one zero of the two that a float has.
    blob = f"{(temperature + 0.0).hex()}|{(top_p + 0.0).hex()}|{seed}|{grammar_id}".encode()
    return hashlib.sha256(blob).hexdigest()[:16]


def validate_post_failover_acceptance(
    draft: BackendBinding,
    target: BackendBinding,
    pre_acceptance: float,
    post_acceptance: float,
    forwarded_logits: bool,
) -> None:
    """Gate the acceptance seen after a failover, before the router acts on it.

    ``pre_acceptance`` is the baseline of the same pair with the same parameters. Raises
    ``SpeculativeRoutingError`` if the pair is inconsistent, if a rate is no probability, or if a spike
    cannot be attributed to a consistent pair.
    """
    if not _probability(pre_acceptance) or not _probability(post_acceptance):
        raise SpeculativeRoutingError(f"no acceptance rates: {pre_acceptance}, {post_acceptance}")
    if draft.tokenizer_hash != target.tokenizer_hash:
        raise SpeculativeRoutingError(
            f"tokenizer mismatch draft={draft.backend_id} target={target.backend_id}"
        )
    if draft.kv_block_size != target.kv_block_size:
        raise SpeculativeRoutingError("kv block size mismatch; verifier positional indices unreliable")
    if draft.params_hash == target.params_hash:
        return
    if forwarded_logits:
        raise SpeculativeRoutingError(
            "draft/target sampling params differ while logits are forwarded; "
            "acceptance measures argmax agreement, not speculative correctness"
        )
    delta = post_acceptance - pre_acceptance
    if delta > SPIKE:
        raise SpeculativeRoutingError(
            f"unattributable acceptance spike delta={delta:.3f}; "
            f"draft params={draft.params_hash} target params={target.params_hash}"
        )


def route_after_failover(
    draft: BackendBinding,
    target: BackendBinding,
    pre_acceptance: float,
    post_acceptance: float,
    forwarded_logits: bool,
) -> Literal["REBIND", "LOCK"]:
    """``REBIND`` to a consistent backend if the acceptance does not validate, else ``LOCK`` the pair.

    The caller asks only after one full cooldown of traffic since the failover (the fourth condition of
    validity).
    """
    try:
        validate_post_failover_acceptance(draft, target, pre_acceptance, post_acceptance, forwarded_logits)
    except SpeculativeRoutingError:
        return "REBIND"
    return "LOCK"


def should_truncate_and_repropose(
    shared_prefix_acceptance: float,
    mean_truncation_depth: float,
    independent_branch_acceptance: float,
    truncation_overhead_ratio: float = 0.15,
    acceptance_floor: float = 0.45,
    depth_ceiling: float = 2.5,
) -> bool:
    """Whether drafters keep sharing a prefix: True if it gains more than the truncations cost, False if
    branches run against verifier passes of their own.

    Depth in tokens, rates in 0..1. Raises ``SpeculativePrefixCollapseError`` if the shared acceptance is
    below the floor, the depth above the ceiling, or a figure out of range.
    """
    for rate in (shared_prefix_acceptance, independent_branch_acceptance):
        if not _probability(rate):
            raise SpeculativePrefixCollapseError(f"acceptance out of range: {rate}")
    if shared_prefix_acceptance < acceptance_floor:
        raise SpeculativePrefixCollapseError(
            "shared-prefix acceptance below floor; prefix is doing negative work"
        )
    if not 0.0 <= mean_truncation_depth <= depth_ceiling:
        raise SpeculativePrefixCollapseError("truncation thrash exceeds cost of independent branches")
    return shared_prefix_acceptance - independent_branch_acceptance > truncation_overhead_ratio


def _probability(rate: float) -> bool:
    return 0.0 <= rate <= 1.0
