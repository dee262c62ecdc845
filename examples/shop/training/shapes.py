"""The three models' shapes and how long each learns."""

from dataclasses import dataclass

from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from examples.shop.training.vocabulary import CONTEXT


@dataclass(frozen=True, slots=True)
class Shape:
    """A Llama-shaped model. ``steps``: optimiser steps, the first ``dictated`` of them dictation;
    ``rate``: peak learning rate.
    """

    name: str
    hidden: int
    layers: int
    heads: int
    inner: int
    steps: int
    dictated: int
    rate: float


TARGET = Shape("target", hidden=192, layers=4, heads=6, inner=512, steps=550, dictated=160, rate=5e-3)
DRAFTER = Shape("drafter", hidden=80, layers=2, heads=4, inner=224, steps=500, dictated=120, rate=6e-3)
WEAK = Shape("weak", hidden=80, layers=2, heads=4, inner=224, steps=120, dictated=0, rate=6e-3)
"""The drafter's shape, stopped early: it knows the form of a call and little of what belongs into it."""


def build(shape: Shape, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """An untrained model; its weights come from torch's global generator."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=shape.hidden,
            intermediate_size=shape.inner,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.heads,
            max_position_embeddings=CONTEXT,
            rms_norm_eps=1e-5,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        )
    )
