"""Training gives the same bytes again: shown on three steps of a small model."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from examples.shop.training.batches import batches
from examples.shop.training.fit import loss_of, settle_randomness, train
from examples.shop.training.save import save
from examples.shop.training.shapes import DRAFTER, build
from examples.shop.training.vocabulary import train_tokenizer

TINY = replace(DRAFTER, name="tiny", hidden=16, layers=1, heads=2, inner=32, steps=3, dictated=1)


@pytest.fixture(autouse=True)
def torch_as_it_was() -> object:
    threads = torch.get_num_threads()
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_num_threads(threads)


def made(folder: Path, seed: int) -> dict[str, bytes]:
    settle_randomness(seed, threads=1)
    tokenizer = train_tokenizer(seed, size=400, samples=40)
    save(train(TINY, tokenizer, seed, batch=2), tokenizer, folder)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    first, again, other = (made(tmp_path / name, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert "model.safetensors" in first
    assert first == again
    assert first["model.safetensors"] != other["model.safetensors"]


def test_the_shared_system_turn_gives_the_loss_of_whole_rows() -> None:
    settle_randomness(3, threads=1)
    tokenizer = train_tokenizer(3, size=400, samples=40)
    model = build(TINY, tokenizer).eval()
    batch = next(b for b in batches(tokenizer, 3, 2) if b.prefix.shape[1])
    rows = torch.cat([batch.prefix.expand(2, -1), batch.rows], dim=1)
    logits = model(rows).logits[:, batch.prefix.shape[1] : -1]
    losses = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), batch.rows[:, 1:].flatten(), reduction="none"
    )
    weights = batch.weights[:, 1:].flatten()
    whole = (losses * weights).sum() / weights.sum()
    assert torch.isclose(loss_of(model, batch), whole, atol=1e-5)
