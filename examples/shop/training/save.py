"""Models on disk: bf16 weights as safetensors, with the tokenizer beside them."""

from pathlib import Path

import torch
from transformers import AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write weights, config and tokenizer; the model itself is rounded to bf16 by it."""
    model.to(dtype=torch.bfloat16)  # type: ignore[call-arg]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def load(folder: Path) -> tuple[PreTrainedTokenizerFast, LlamaForCausalLM]:
    """The tokenizer and the model in float32, ready to read."""
    tokenizer: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(  # type: ignore[assignment]
        folder, local_files_only=True
    )
    model: LlamaForCausalLM = LlamaForCausalLM.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True
    )
    model.eval()  # type: ignore[no-untyped-call]
    return tokenizer, model
