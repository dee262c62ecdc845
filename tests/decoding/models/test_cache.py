"""What the cache holds after every round is what a fresh prefill would hold."""

import numpy as np
import pytest
import torch
from transformers import MistralConfig, MistralForCausalLM

from decoding.loop import run_turn
from decoding.models.causal import CausalModel
from decoding.models.drafter import ModelDrafter
from decoding.models.tokenizer import ChatTokenizer
from decoding.options import LoopOptions
from decoding.sampling import Sampling
from tests.decoding.drafting import Corrupted
from tests.decoding.models import tiny
from tests.decoding.sinks import MemorySink

NEAR = 1e-9


class Checked:
    """A model that compares each of its answers, and what it keeps after it, with a fresh prefill."""

    def __init__(self, model):
        self.name, self.vocabulary, self.context_limit = model.name, model.vocabulary, model.context_limit
        self.answers = 0
        self._model = model

    def scores(self, ids, last):
        rows = self._model.scores(ids, last)
        np.testing.assert_allclose(rows, self._model.fresh_scores(ids, last), atol=NEAR, rtol=0)
        assert self._model.cached_ids == tuple(ids)
        assert self._model.cache_error() < NEAR
        self.answers += 1
        return rows


@pytest.mark.parametrize("window", range(1, 9))
def test_full_acceptance_leaves_no_hole(untrained, window):
    """A drafter that is the target in another skin is always right: its last draft is never one it has run."""
    target = Checked(untrained.target)
    twin = Checked(CausalModel(tiny.tiny_llama(1).to(torch.float64), untrained.target.tokenizer, "twin"))
    options = LoopOptions(
        window=window, max_new_tokens=3 * (window + 1), sampling=Sampling(temperature=0.8, seed=4)
    )
    result = run_turn(target, ModelDrafter(twin), untrained.prompts[0], MemorySink(), options)
    assert result.drafters["twin"].rejected == 0
    assert (target.answers, twin.answers) == (3, 3 * window)


@pytest.mark.parametrize("offset", range(5))
def test_a_cut_at_each_offset_leaves_nothing_behind(untrained, offset):
    options = LoopOptions(window=5, max_new_tokens=20, sampling=Sampling(temperature=0.8, seed=4))
    prompt = untrained.prompts[1]
    plain = run_turn(untrained.target, None, prompt, MemorySink(), options)
    target, small = Checked(untrained.target), Checked(untrained.drafter)
    drafter = Corrupted(ModelDrafter(small), offset, plain.ids)
    result = run_turn(target, drafter, prompt, MemorySink(), options)
    assert result.ids == plain.ids
    assert result.drafters[drafter.name].rejected >= 3
    assert target.answers == result.target_passes
    assert small.answers > target.answers


def test_the_checks_see_a_cache_that_is_off_by_one(untrained):
    model = CausalModel(tiny.tiny_llama(5).to(torch.float64), untrained.target.tokenizer, "spoiled")
    context = list(untrained.prompts[0])
    model.scores(context, 1)
    assert model.cache_error() < NEAR
    model._kept.ids[-3] += 1
    assert model.cache_error() > 1e-3


def test_only_what_is_new_is_run(untrained):
    model = CausalModel(tiny.tiny_llama(5).to(torch.float64), untrained.target.tokenizer, "counted")
    lengths = []
    forward = model._forward
    model._forward = lambda kept, ids, last: lengths.append(len(ids)) or forward(kept, ids, last)
    prompt = list(range(30))
    model.scores(prompt, 1)
    model.scores([*prompt, 40, 41, 42], 4)
    model.scores([*prompt, 40, 50, 51], 2)
    model.scores([*prompt, 40, 50, 51], 1)
    model.scores([7, *prompt], 1)
    assert lengths == [30, 4, 2, 1, 31]


@pytest.mark.parametrize("sliding", [4, 12])
def test_a_sliding_window_goes_back_exactly(sliding):
    """Keys that have slid out of the window can't be put back: the cache is rebuilt, never silently wrong."""
    torch.manual_seed(2)
    config = MistralConfig(
        vocab_size=264,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        sliding_window=sliding,
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=257,
    )
    model = CausalModel(
        MistralForCausalLM(config).to(torch.float64), ChatTokenizer(tiny.byte_tokenizer()), "sliding"
    )
    prompt = list(range(60, 90))
    for tail in ([1, 2, 3], [1, 2, 4, 5, 6, 7], [1, 9], [1, 9, 3, 3, 3]):
        context = [*prompt, *tail]
        fresh = model.fresh_scores(context, len(tail))
        np.testing.assert_allclose(model.scores(context, len(tail)), fresh, atol=NEAR, rtol=0)


def test_an_interrupted_pass_leaves_an_empty_cache(untrained):
    model = CausalModel(tiny.tiny_llama(5).to(torch.float64), untrained.target.tokenizer, "interrupted")
    context = list(untrained.prompts[0])
    model.scores(context, 1)

    def interrupt(*_):
        raise KeyboardInterrupt

    hook = model._model.model.layers[1].register_forward_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.scores([*context, 1, 2], 1)
    hook.remove()
    assert model.cached_ids == ()
    fresh = model.fresh_scores([*context, 1, 2], 1)
    np.testing.assert_allclose(model.scores([*context, 1, 2], 1), fresh, atol=NEAR, rtol=0)
