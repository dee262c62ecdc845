"""The rule draws from the target's law, exactly; a rule that prefers the draft does not, and this test sees it."""

import numpy as np
import pytest

from decoding.errors import ModelRefused, OptionsError
from decoding.rules.match import Draw, MatchRule, judge, kept
from decoding.sampling import Sampling

P = np.array([2.0**-i for i in range(1, 16)] + [2.0**-15])
"""A law over 16 ids that is far from flat."""
LIMIT = 73.6
"""Chi-square with 15 degrees of freedom exceeds this once in 1e9 runs of a right rule."""
DRAWS = 20_000


def rule(seed=0, temperature=1.0, vocabulary=16, **more):
    return MatchRule(Sampling(temperature=temperature, seed=seed, **more), "main", vocabulary)


def chi_square(counts, law):
    expected = law * counts.sum()
    # Rare ids are counted together, so that each cell expects enough.
    rare = expected < 5
    cells = [(counts[i], expected[i]) for i in np.flatnonzero(~rare)] + [
        (counts[rare].sum(), expected[rare].sum())
    ]
    return sum((seen - due) ** 2 / due for seen, due in cells if due > 0)


def reversed_rank(position):
    return 3 + position % 8


def emitted(preference):
    """Counts of what is emitted at 20,000 positions when drafts are poor; ``preference`` 0 is rule ``match``."""
    scores, counts = np.log(P), np.zeros(16)
    for position in range(DRAWS):
        drawn = rule(seed=5).draw(scores, position).id
        draft = reversed_rank(position)
        coin = (position * 2654435761 % 2**32) / 2**32
        counts[draft if coin < preference else drawn] += 1
    return counts


def test_what_match_emits_has_the_targets_law():
    assert chi_square(emitted(0.0), P) < LIMIT


def test_a_rule_that_prefers_the_draft_is_seen():
    assert chi_square(emitted(0.05), P) > LIMIT


def test_seeds_are_independent_draws_too():
    counts = np.bincount([rule(seed=s).draw(np.log(P), 0).id for s in range(DRAWS)], minlength=16)
    assert chi_square(counts, P) < LIMIT


def test_temperature_top_k_and_top_p_shape_the_law():
    law = P**2 / (P**2).sum()
    law = np.where(np.arange(16) < 3, law, 0) / law[:3].sum()
    shaped = rule(temperature=0.5, top_k=3)
    counts = np.bincount([shaped.draw(np.log(P), i).id for i in range(5000)], minlength=16)
    assert counts[3:].sum() == 0
    assert chi_square(counts, law) < LIMIT


@pytest.mark.parametrize(
    ("limits", "survivors"),
    [
        ({"top_k": 2}, [0, 1]),
        ({"top_k": 99}, list(range(16))),
        ({"top_p": 0.5}, [0]),
        ({"top_p": 0.51}, [0, 1]),
        ({"min_p": 0.2}, [0, 1, 2]),
        ({"top_k": 3, "top_p": 0.9}, [0, 1, 2]),
        ({"top_p": 1e-12}, [0]),
    ],
)
def test_what_is_kept(limits, survivors):
    ids, log_p = kept(np.log(P), Sampling(temperature=1.0, **limits))
    assert ids.tolist() == survivors
    assert np.exp(log_p).sum() == pytest.approx(1.0)


def test_equal_scores_are_ranked_by_id():
    flat = np.zeros(8)
    assert rule(temperature=0.0, vocabulary=8).draw(flat, 0) == Draw(0, 0.0)
    assert kept(flat, Sampling(temperature=1.0, top_k=3))[0].tolist() == [0, 1, 2]


def test_padding_ids_are_never_drawn_and_change_nothing():
    wide = np.concatenate([np.log(P), np.full(8, 50.0)])
    for temperature in (0.0, 0.8):
        drawing = rule(temperature=temperature)
        assert all(drawing.draw(wide, i) == drawing.draw(np.log(P), i) for i in range(200))


def test_an_impossible_id_is_never_drawn():
    scores = np.array([-np.inf, 0.0, -np.inf, 0.0])
    drawing = rule(vocabulary=4)
    assert {drawing.draw(scores, i).id for i in range(200)} == {1, 3}
    alone = rule(vocabulary=2).draw(scores[:2], 0)
    assert alone == Draw(1, float("inf"))


def test_a_tiny_temperature_is_greedy():
    drawing = rule(temperature=1e-300)
    assert all(drawing.draw(np.log(P), i).id == 0 for i in range(50))


@pytest.mark.parametrize(
    ("scores", "code"),
    [
        (np.zeros(15), "vocabulary_mismatch"),
        (np.full(16, np.nan), "scores_not_finite"),
        (np.full(16, -np.inf), "scores_not_finite"),
        (np.array([np.inf] + [0.0] * 15), "scores_not_finite"),
    ],
)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_scores_without_meaning_are_refused(scores, code, temperature):
    with pytest.raises(ModelRefused) as refused:
        rule(temperature=temperature).draw(scores, 0)
    assert refused.value.code == code


def test_accepted_is_a_prefix():
    draws = [Draw(i, 1.0) for i in (4, 5, 6)]
    assert [judge(drafts, draws) for drafts in ((), (4,), (4, 5, 6), (4, 9, 6), (9, 5, 6))] == [0, 1, 3, 1, 0]


@pytest.mark.parametrize(
    "bad",
    [
        {"temperature": -0.1},
        {"temperature": float("nan")},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"min_p": 2.0},
        {"seed": -1},
        {"seed": 2**64},
    ],
)
def test_parameters_out_of_range_are_refused(bad):
    with pytest.raises(OptionsError) as refused:
        Sampling(**bad)
    assert refused.value.code == "bad_options"
    assert next(iter(bad)) in str(refused.value)


def test_the_params_digest_is_exact():
    digests = {
        Sampling(temperature=0.70001).digest(),
        Sampling(temperature=0.70002).digest(),
        Sampling(temperature=0.1 + 0.2).digest(),
        Sampling(temperature=0.3).digest(),
        Sampling(seed=2**53).digest(),
        Sampling(seed=2**53 + 1).digest(),
        Sampling().digest("ratio"),
        Sampling(top_k=1).digest(),
    }
    assert len(digests) == 8
    assert Sampling(seed=1).digest(with_seed=False) == Sampling(seed=2).digest(with_seed=False)
