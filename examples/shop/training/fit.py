"""The training loop: Muon for the weight matrices, AdamW for the embedding and the norms."""

import math
import os
import random
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads double the CPU time on a busy machine

import torch
from torch.nn.functional import cross_entropy
from transformers import DynamicCache, LlamaForCausalLM, PreTrainedTokenizerFast

from examples.shop.training.batches import Batch, batches
from examples.shop.training.shapes import Shape, build

WARM_UP = 30
FLOOR = 0.05
BATCH = 16


def settle_randomness(seed: int, threads: int) -> None:
    """Make torch's results repeatable: same seed, machine and thread count, same bytes."""
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(seed)
    random.seed(seed)


def train(
    shape: Shape, tokenizer: PreTrainedTokenizerFast, seed: int, batch: int = BATCH
) -> LlamaForCausalLM:
    """A model of ``shape`` after ``shape.steps`` steps. Progress goes to standard error."""
    torch.manual_seed(seed)
    model = build(shape, tokenizer)
    model.train()
    optimisers = _optimisers(model, shape.rate)
    feed = batches(tokenizer, seed, batch, shape.dictated)
    began, smooth = time.monotonic(), 0.0
    for step in range(shape.steps):
        _set_rate(optimisers, shape, step)
        loss = loss_of(model, next(feed))
        model.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimiser in optimisers:
            optimiser.step()
        smooth = loss.item() if step == 0 else 0.95 * smooth + 0.05 * loss.item()
        if step % 50 == 49 or step == shape.steps - 1:
            seconds = time.monotonic() - began
            print(
                f"{shape.name}: step {step + 1}/{shape.steps}, loss {smooth:.4f}, {seconds:.0f} s",
                file=sys.stderr,
            )
    model.eval()  # type: ignore[no-untyped-call]
    return model


def loss_of(model: LlamaForCausalLM, batch: Batch) -> torch.Tensor:
    """The weighted mean of the cross entropy over the rows, each read behind the prefix."""
    size = batch.rows.shape[0]
    cache = DynamicCache(config=model.config)
    if batch.prefix.shape[1]:
        model(batch.prefix, cache=cache, use_cache=True)
        for layer in cache.layers:
            layer.keys = layer.keys.expand(size, -1, -1, -1)  # type: ignore[union-attr]
            layer.values = layer.values.expand(size, -1, -1, -1)  # type: ignore[union-attr]
    logits = model(batch.rows, cache=cache, use_cache=True).logits[:, :-1]
    losses = cross_entropy(logits.flatten(0, 1), batch.rows[:, 1:].flatten(), reduction="none")
    weights = batch.weights[:, 1:].flatten()
    return (losses * weights).sum() / weights.sum()


def _optimisers(model: LlamaForCausalLM, rate: float) -> list[torch.optim.Optimizer]:
    matrices: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in model.named_parameters():
        (matrices if parameter.ndim == 2 and "embed" not in name else others).append(parameter)
    return [
        torch.optim.Muon(matrices, lr=rate, momentum=0.95, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def _set_rate(optimisers: list[torch.optim.Optimizer], shape: Shape, step: int) -> None:
    warm = min(1.0, (step + 1) / WARM_UP)
    fall = FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * step / shape.steps))
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = shape.rate * warm * fall
