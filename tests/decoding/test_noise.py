import json
import math
from pathlib import Path

import numpy as np
import pytest

from decoding.noise import gumbel, gumbels, odd53, odd53s, row_key

VECTORS = json.loads((Path(__file__).parent / "vectors" / "noise.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: f"{case['seed']}-{case['position']}")
def test_the_published_vectors_hold(case):
    row = row_key(int(case["seed"]), case["branch"], case["position"])
    assert f"{row:016x}" == case["row"]
    for token in case["tokens"]:
        assert f"{odd53(row, token['id']):014x}" == token["odd53"]
        assert gumbel(row, token["id"]) == pytest.approx(token["gumbel"], rel=1e-13)
        assert gumbels(row, np.array([token["id"]]))[0] == pytest.approx(token["gumbel"], rel=1e-13)


def test_the_mix_is_splitmix64_as_others_have_it():
    known = (6457827717110365317, 3203168211198807973, 9817491932198370423)  # seed 1234567
    assert [odd53(1234567, i) for i in range(3)] == [((z >> 12) << 1) | 1 for z in known]


def test_many_ids_at_once_are_the_same_integers():
    ids = np.arange(5000)
    row = row_key(3, "main", 9)
    assert odd53s(row, ids).tolist() == [odd53(row, int(i)) for i in ids]


def test_noise_of_an_id_does_not_depend_on_the_others():
    row, ids = row_key(3, "main", 9), np.arange(4099)
    whole = gumbels(row, ids)
    for step in (1, 2, 7, 1000):
        assert (gumbels(row, np.ascontiguousarray(ids[::step])) == whole[::step]).all()


def test_the_uniform_stays_strictly_inside():
    for odd in (1, 2**53 - 1):
        uniform = odd * 2.0**-53
        assert 0 < uniform < 1
        assert math.isfinite(-math.log(-math.log(uniform)))


def test_every_part_of_the_counter_counts():
    rows = {row_key(s, b, p) for s in (0, 1, 256) for b in ("main", "b", "") for p in (0, 1, 256)}
    assert len(rows) == 27


def test_the_noise_is_gumbel():
    noise = np.concatenate([gumbels(row_key(1, "main", p), np.arange(2000)) for p in range(50)])
    assert noise.mean() == pytest.approx(0.5772, abs=0.02)
    assert noise.var() == pytest.approx(math.pi**2 / 6, abs=0.05)
    neighbours = np.corrcoef(noise[:-2000], noise[2000:])[0, 1]
    assert abs(neighbours) < 0.02
