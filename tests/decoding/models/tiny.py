"""Real models of transformers: the trained ones of the shop where they are, and tiny untrained ones made here."""

from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from decoding.models.causal import CausalModel, load_causal
from decoding.models.tokenizer import ChatTokenizer

TRAINED = Path(__file__).parents[3] / "examples" / "shop" / "models"
SPECIAL = ("<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True)
class Trio:
    """A target, a drafter and a weak drafter that share a tokenizer, and prompts for them."""

    target: CausalModel
    drafter: CausalModel
    weak: CausalModel
    prompts: tuple[tuple[int, ...], ...]


def byte_tokenizer(chat_template: str | None = TEMPLATE) -> PreTrainedTokenizerFast:
    """A token a byte, and the marks of a chat."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens(
        [AddedToken(mark, special=mark.startswith("<|"), normalized=False) for mark in SPECIAL]
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>")
    fast.chat_template = chat_template
    return fast


def tiny_llama(seed: int, width: int = 32, layers: int = 2, vocabulary: int = 264) -> LlamaForCausalLM:
    """An untrained model with 4 ids of padding, whose laws are far from flat."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            intermediate_size=2 * width,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=256,
            initializer_range=0.3,
            bos_token_id=None,
            eos_token_id=257,
        )
    )


def nearby(model: LlamaForCausalLM, noise: float, seed: int = 9) -> LlamaForCausalLM:
    """A copy whose weights are off by ``noise``: right often, not always."""
    copy = LlamaForCausalLM(model.config)
    copy.load_state_dict(model.state_dict())
    torch.manual_seed(seed)
    with torch.no_grad():
        for weights in copy.parameters():
            weights += noise * torch.randn_like(weights)
    return copy


def untrained(dtype: torch.dtype = torch.float64) -> Trio:
    tokenizer = ChatTokenizer(byte_tokenizer())
    target = tiny_llama(1)
    made = {
        "target": target,
        "drafter": nearby(target, 0.01),
        "weak": tiny_llama(3, width=16, layers=1),
    }
    wrapped = {name: CausalModel(model.to(dtype), tokenizer, name) for name, model in made.items()}
    return Trio(**wrapped, prompts=prompts(wrapped["target"]))


def trained(dtype: str = "float64") -> Trio:
    loaded = {
        name: load_causal(TRAINED / name, dtype=dtype, device="cpu") for name in ("target", "drafter", "weak")
    }
    return Trio(**loaded, prompts=prompts(loaded["target"]))


def prompts(target: CausalModel) -> tuple[tuple[int, ...], ...]:
    asks = (
        "Please cancel order W2378156.",
        "Look up customer Ana Prüfer, then refund order W1000042.",
        "Hello!",
    )
    return tuple(target.tokenizer.encode_prompt([{"role": "user", "content": ask}]) for ask in asks)
