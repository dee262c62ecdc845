"""Batches of conversations. All rows of a batch stand behind one system turn, computed once for all."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from transformers import PreTrainedTokenizerFast

from examples.shop.signatures import as_functions
from examples.shop.training.dictation import dictations
from examples.shop.training.transcripts import Message, transcripts
from examples.shop.training.vocabulary import END, TURN

WHOLE = 0.2
"""Share of batches that hold whole conversations; the others end with the calls, where the learning is."""
DICTATED = 0.1
"""Share of dictations among the batches behind the first ones."""
NO_TOOLS, SHUFFLED = 0.1, 0.1
"""Shares of batches without a system turn, and with its tools in another order, so that neither is needed."""
HEARD = 0.1
"""Loss weight of what the agent does not write itself: nobody can foretell a user's wish."""


@dataclass(frozen=True, slots=True)
class Batch:
    """``prefix``: ids of the system turn, (1, P), P may be 0. ``rows``: (B, N) ids. ``weights``: (B, N)."""

    prefix: torch.Tensor
    rows: torch.Tensor
    weights: torch.Tensor


def encode(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    """The ids of ``text`` with nothing added."""
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def system_turn(tokenizer: PreTrainedTokenizerFast, tools: list[dict[str, Any]]) -> str:
    """The system turn that the chat template writes for ``tools``; empty without tools."""
    # An empty system message, as the template refuses to render no message at all.
    empty = [{"role": "system", "content": ""}]
    return str(tokenizer.apply_chat_template(empty, tools=list(tools) or None, tokenize=False))


def weighted_ids(
    tokenizer: PreTrainedTokenizerFast, messages: Sequence[Message]
) -> tuple[list[int], list[float]]:
    """The ids of the turns as the chat template writes them, and each one's weight in the loss."""
    ids: list[int] = []
    weights: list[float] = []
    for message in messages:
        spoken = message["role"] == "assistant"
        head = encode(tokenizer, f"{TURN}{message['role']}\n")
        body = encode(tokenizer, f"{message['content']}{END}\n")
        ids += head + body
        weights += [HEARD] * len(head) + [1.0 if spoken else HEARD] * len(body)
    return ids, weights


def batches(tokenizer: PreTrainedTokenizerFast, seed: int, size: int, dictated: int = 0) -> Iterator[Batch]:
    """Endless batches of ``size`` conversations, one a row: packed rows were seen to teach copying badly.

    The first ``dictated`` batches are dictations, and a few of the later ones, so that copying is not unlearnt.
    """
    r = random.Random(f"shop batches {seed}")
    talks, lists = transcripts(seed), dictations(seed)
    for at in count():
        if at < dictated or r.random() < DICTATED:
            yield _batch(tokenizer, [], [next(lists) for _ in range(size)])
            continue
        tools, chance = as_functions(), r.random()
        if chance < NO_TOOLS:
            tools = []
        elif chance < NO_TOOLS + SHUFFLED:
            r.shuffle(tools)
        whole = r.random() < WHOLE
        taken = [next(talks) for _ in range(size)]
        yield _batch(tokenizer, tools, [t.messages if whole else t.until_calls() for t in taken])


def _batch(
    tokenizer: PreTrainedTokenizerFast, tools: list[dict[str, Any]], rows: Sequence[Sequence[Message]]
) -> Batch:
    pairs = [weighted_ids(tokenizer, row) for row in rows]
    longest = max(len(ids) for ids, _ in pairs)
    return Batch(
        prefix=torch.tensor([encode(tokenizer, system_turn(tokenizer, tools))], dtype=torch.long),
        rows=torch.tensor([ids + [tokenizer.pad_token_id] * (longest - len(ids)) for ids, _ in pairs]),
        weights=torch.tensor([weights + [0.0] * (longest - len(weights)) for _, weights in pairs]),
    )
