"""Rule ``match``: the target draws its own token at every position; a draft is accepted iff it is that token.

Lossless for any proposals, because what is emitted is always the target's own draw (design.md, Decoding). The
draw is keyed by position, so the text does not depend on drafter, window or how often drafting was cut short.

Order of the processors, each on what the one before has kept: padding ids dropped, temperature, top_k, top_p,
min_p. Equal scores are ranked by id, lowest first. No token that a processor dropped can be drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decoding.errors import ModelRefused
from decoding.noise import gumbels, row_key
from decoding.sampling import Sampling

Scores = NDArray[np.float64]
"""Unnormalised log scores of one position, shape [width]; width may exceed the vocabulary by padding ids."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The token drawn at a position, and by how much (nats) it won against the runner-up; inf if it had none.

    At temperature 0 the margin is in raw scores.
    """

    id: int
    margin: float


@dataclass(frozen=True, slots=True)
class MatchRule:
    """How tokens are drawn in one branch of one turn. ``vocabulary``: ids from there on are padding, never
    drawn."""

    sampling: Sampling
    branch: str
    vocabulary: int

    def draw(self, scores: Scores, position: int) -> Draw:
        """The draw at ``position`` (0-based in the branch): argmax over kept ids of log p + noise, in
        float64.

        Raises ``ModelRefused``: ``vocabulary_mismatch`` where there are fewer scores than ids,
        ``scores_not_finite`` where one is NaN or +inf, or all are -inf.
        """
        real = self._real(scores)
        if self.sampling.temperature == 0:
            return _best(np.arange(real.size), real)
        ids, log_p = kept(real, self.sampling)
        noise = gumbels(row_key(self.sampling.seed, self.branch, position), ids)
        return _best(ids, log_p + noise)

    def _real(self, scores: Scores) -> Scores:
        if scores.size < self.vocabulary:
            raise ModelRefused(
                f"the model scores {scores.size} ids, its tokenizer has {self.vocabulary}",
                code="vocabulary_mismatch",
            )
        real = np.ascontiguousarray(scores[: self.vocabulary], dtype=np.float64)
        if np.isnan(real).any() or not np.isfinite(real.max()):
            raise ModelRefused("the model's scores are not finite", code="scores_not_finite")
        return real


def kept(scores: Scores, sampling: Sampling) -> tuple[NDArray[np.int64], Scores]:
    """The ids that may be drawn at a temperature above 0, ascending, and their log probabilities.

    The probabilities are renormalised over what is kept.
    """
    with np.errstate(over="ignore"):
        # The difference first: a tiny temperature then sends the others to -inf instead of all to inf.
        scaled = (scores - scores.max()) / sampling.temperature
    ids = np.flatnonzero(np.isfinite(scaled))
    if sampling.top_k or sampling.top_p < 1 or sampling.min_p > 0:
        ranked = ids[np.argsort(-scaled[ids], kind="stable")]
        ids = np.sort(ranked[: _reach(scaled[ranked], sampling)])
    log_p = scaled[ids] - scaled[ids].max()
    return ids, log_p - np.log(np.exp(log_p).sum())


def _reach(ranked: Scores, sampling: Sampling) -> int:
    """How many of the scores, highest first, survive top_k, then top_p, then min_p; at least one."""
    count = min(sampling.top_k or ranked.size, ranked.size)
    p = np.exp(ranked[:count] - ranked[0])
    if sampling.top_p < 1:
        mass_before = np.cumsum(p) - p
        count = int(np.count_nonzero(mass_before < sampling.top_p * p.sum()))
    if sampling.min_p > 0:
        count = int(np.count_nonzero(p[:count] >= sampling.min_p))
    return max(count, 1)


def _best(ids: NDArray[np.int64], scores: Scores) -> Draw:
    first = int(np.argmax(scores))
    if scores.size == 1:
        return Draw(int(ids[0]), float("inf"))
    others = max(scores[:first].max(initial=-np.inf), scores[first + 1 :].max(initial=-np.inf))
    return Draw(int(ids[first]), float(scores[first] - others))


def judge(drafts: Sequence[int], draws: Sequence[Draw]) -> int:
    """How many leading drafts equal the target's draws at their positions; a later match behind a miss counts
    nothing."""
    for offset, (draft, drawn) in enumerate(zip(drafts, draws, strict=False)):
        if draft != drawn.id:
            return offset
    return min(len(drafts), len(draws))
