"""Same seed, same text: whatever drafts, however wide the window, wherever it is cut (float64)."""

import itertools

import pytest

from decoding.drafters.ngram import NgramDrafter
from decoding.loop import run_turn
from decoding.models.drafter import ModelDrafter
from decoding.options import LoopOptions
from decoding.progress import Ruled
from decoding.sampling import Sampling
from tests.decoding.drafting import Corrupted
from tests.decoding.models import tiny
from tests.decoding.sinks import MemorySink

WINDOWS = (1, 2, 5, 8)
TOKENS = 20


def decode(trio, prompt, drafter, window, sampling, observer=None, tokens=TOKENS):
    sink = MemorySink()
    options = LoopOptions(window=window, max_new_tokens=tokens, sampling=sampling)
    result = run_turn(trio.target, drafter, prompt, sink, options, observer)
    assert tuple(sink.ids) == result.ids
    return result


def drafters(trio):
    return ModelDrafter(trio.drafter), ModelDrafter(trio.weak), NgramDrafter()


def check_all(trio, sampling, prompts=3):
    """3 prompts x 3 drafters x 4 windows x (no forced rejection, or one at each offset); the number of runs."""
    runs, forced = 0, 0
    for prompt in trio.prompts[:prompts]:
        plain = decode(trio, prompt, None, 0, sampling)
        for drafter, window in itertools.product(drafters(trio), WINDOWS):
            for offset in (None, *range(window)):
                used = drafter if offset is None else Corrupted(drafter, offset, plain.ids)
                result = decode(trio, prompt, used, window, sampling)
                assert (result.ids, result.text) == (plain.ids, plain.text), (used.name, window)
                runs += 1
                forced += getattr(used, "forced", 0)
    return runs, forced


SAMPLED = Sampling(temperature=0.8, seed=20261)


@pytest.mark.parametrize(("sampling", "prompts"), [(SAMPLED, 3), (Sampling(), 1)], ids=["sampled", "greedy"])
def test_untrained_models(untrained, sampling, prompts):
    runs, forced = check_all(untrained, sampling, prompts)
    print(f"{runs} runs equal plain decoding, {forced} forced rejections")
    assert runs == prompts * 3 * (4 + sum(WINDOWS))
    assert forced > runs


def test_trained_models(trained):
    runs, forced = check_all(trained, SAMPLED)
    print(f"{runs} runs equal plain decoding, {forced} forced rejections")
    assert forced > runs / 2


def test_seeds_give_different_texts_and_each_its_own_again(untrained):
    texts = {}
    for seed in range(4):
        sampling = Sampling(temperature=0.8, seed=seed)
        runs = {
            decode(untrained, untrained.prompts[0], d, 4, sampling).ids for d in (None, *drafters(untrained))
        }
        assert len(runs) == 1
        texts[seed] = runs.pop()
    assert len(set(texts.values())) == 4


def test_the_drafters_differ_in_what_they_get_right(untrained):
    """Else the runs above would all walk the same path."""
    rates = []
    for drafter in drafters(untrained)[:2]:
        result = decode(
            untrained, untrained.prompts[0], drafter, 4, Sampling(temperature=0.8, seed=1), tokens=80
        )
        counts = result.drafters[drafter.name]
        rates.append(counts.accepted / (counts.accepted + counts.rejected))
    assert rates[0] > 0.5 > rates[1] + 0.2


def test_float32_diverges_at_near_ties_only():
    import torch

    trio = tiny.untrained(torch.float32)
    compared = 0
    for seed in range(6):
        sampling = Sampling(temperature=0.8, seed=seed)
        plain = decode(trio, trio.prompts[0], None, 0, sampling, tokens=60)
        margins = {}

        def note(event, margins=margins):
            if isinstance(event, Ruled):
                judged = range(event.start, event.start + len(event.accepted) + 1)
                margins.update(dict.fromkeys(judged, event.margin))

        wide = decode(trio, trio.prompts[0], drafters(trio)[0], 5, sampling, note, tokens=60)
        for at, (ours, theirs) in enumerate(zip(wide.ids, plain.ids, strict=False)):
            compared += 1
            if ours != theirs:
                assert margins[at] < 1e-3
                break
    assert compared > 100
