import subprocess
import sys

import numpy as np
import pytest
import torch

from decoding.errors import ModelRefused
from decoding.loop import run_turn
from decoding.models.causal import CausalModel, load_causal
from decoding.models.drafter import ModelDrafter
from decoding.models.tokenizer import ChatTokenizer
from decoding.options import LoopOptions
from decoding.rules.match import MatchRule
from decoding.sampling import Sampling
from tests.decoding.models import tiny
from tests.decoding.sinks import MemorySink


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("models") / "small"
    tiny.tiny_llama(1).to(torch.bfloat16).save_pretrained(where)
    tiny.byte_tokenizer().save_pretrained(where)
    return where


def test_a_folder_is_a_model(folder):
    model = load_causal(folder, dtype="float64", device="cpu")
    assert model.name == "small"
    assert model.context_limit == 256
    assert model.vocabulary.size == 260
    assert model.vocabulary.ends == {257}
    assert load_causal(str(folder), name="mine").name == "mine"
    ids = model.tokenizer.encode_prompt([{"role": "user", "content": "Hi"}])
    scores = model.scores(ids, 2)
    assert (scores.shape, scores.dtype) == ((2, 264), np.float64)
    result = run_turn(model, None, ids, MemorySink(), LoopOptions(max_new_tokens=5))
    assert len(result.ids) <= 5


def test_rows_follow_the_prefixes(untrained):
    ids = list(range(40, 52))
    rows = untrained.target.scores(ids, 4)
    for i in range(4):
        alone = untrained.target.fresh_scores(ids[: len(ids) - 3 + i], 1)[0]
        np.testing.assert_allclose(rows[i], alone, atol=1e-9, rtol=0)


def test_padding_ids_are_never_said(untrained):
    rule = MatchRule(Sampling(temperature=5.0, seed=1), "main", untrained.target.vocabulary.size)
    scores = untrained.target.scores(list(untrained.prompts[0]), 1)[0]
    scores[260:] = 1e6
    assert all(rule.draw(scores, i).id < 260 for i in range(300))


@pytest.mark.parametrize("source", ["empty", "missing"])
def test_what_is_no_model_is_refused(tmp_path, source):
    place = tmp_path / source
    if source == "empty":
        place.mkdir()
    with pytest.raises(ModelRefused) as refused:
        load_causal(place)
    assert refused.value.code == "model_not_loadable"
    assert str(place) in str(refused.value)


def test_fewer_scores_than_ids_are_refused():
    tokenizer = ChatTokenizer(tiny.byte_tokenizer())
    with pytest.raises(ModelRefused) as refused:
        CausalModel(tiny.tiny_llama(1, vocabulary=258), tokenizer, "narrow")
    assert refused.value.code == "vocabulary_mismatch"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_refused(folder):
    with pytest.raises(ModelRefused) as refused:
        load_causal(folder, device="cuda")
    assert refused.value.code == "device_not_available"


def test_a_drafter_with_another_tokenizer_is_refused(untrained):
    other = tiny.byte_tokenizer()
    other.add_tokens(["<more>"])
    drafter = ModelDrafter(CausalModel(tiny.tiny_llama(3), ChatTokenizer(other), "foreign"))
    sink = MemorySink()
    with pytest.raises(ModelRefused) as refused:
        run_turn(untrained.target, drafter, untrained.prompts[0], sink)
    assert refused.value.code == "tokenizer_mismatch"
    assert "foreign" in str(refused.value)
    assert sink.epoch == 0


def test_a_drafter_stops_where_its_own_context_is_full(untrained):
    drafter = ModelDrafter(untrained.drafter)
    rule = MatchRule(Sampling(), "main", untrained.target.vocabulary.size)
    for length, most in ((254, 2), (256, 0), (300, 0)):
        assert len(drafter.propose([65] * length, 0, 5, rule).ids) <= most


def test_the_loop_needs_no_torch():
    loaded = "import sys, decoding.loop, decoding.drafters.ngram; print({'torch', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
