"""The tokenizer: byte-level BPE of a few hundred tokens; call delimiters and digits are single tokens."""

from itertools import islice

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from examples.shop.signatures import signatures
from examples.shop.training.transcripts import transcripts

CONTEXT = 768
SIZE = 768
PAD, TURN, END = "<|pad|>", "<|im_start|>", "<|im_end|>"
DELIMITERS = ("<tool_call>", "</tool_call>")

PIECES = r" ?[\p{L}_]+|\p{N}|\n|[^\p{L}\p{N}_\n]+"
"""A word with its space, one digit, a line feed, or a run of punctuation: a tool's name becomes one token,
the frame of a call a few, and a window of 48 tokens holds two or three calls; ids and amounts stay digit by
digit."""

CHAT_TEMPLATE = (
    "{%- set system = messages[0]['content'] if messages and messages[0]['role'] == 'system' else '' -%}"
    "{%- if tools or system -%}{{ '<|im_start|>system\n' }}"
    "{%- if system %}{{ system }}{% if tools %}{{ '\n' }}{% endif %}{% endif -%}"
    "{%- for tool in tools or [] -%}"
    "{%- set f = tool['function'] if tool is mapping and 'function' in tool else tool -%}"
    "{%- if f is string %}{{ f }}"
    "{% else %}{{ f['name'] }}({{ ((f['parameters'] or {})['properties'] or {}) | join(', ') }}){% endif -%}"
    "{%- if not loop.last %}{{ '\n' }}{% endif -%}"
    "{%- endfor -%}<|im_end|>{{ '\n' }}{%- endif -%}"
    "{%- for m in messages if m['role'] != 'system' -%}"
    "<|im_start|>{{ m['role'] }}{{ '\n' }}{{ m['content'] }}<|im_end|>{{ '\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt %}<|im_start|>assistant{{ '\n' }}{% endif -%}"
)
"""Tools become one-line signatures in the system turn, behind the system message if there is one."""


def train_tokenizer(seed: int, size: int = SIZE, samples: int = 3000) -> PreTrainedTokenizerFast:
    """The tokenizer that ``seed`` gives, with the chat template; ``<|im_end|>`` ends a message."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(DELIMITERS),
        special_tokens=[AddedToken(mark, special=True, normalized=False) for mark in (PAD, TURN, END)],
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tools = "\n".join(tool.line for tool in signatures())
    texts = (
        _without_delimiters(
            "\n".join([f"system\n{tools}", *(f"{m['role']}\n{m['content']}" for m in transcript.messages)])
        )
        for transcript in islice(transcripts(seed), samples)
    )
    tokenizer.train_from_iterator(texts, trainer)
    # Not special: a decoder that drops special tokens must still print the delimiters of a call.
    tokenizer.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in DELIMITERS])
    fast: PreTrainedTokenizerFast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        clean_up_tokenization_spaces=False,
        model_max_length=CONTEXT,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def _without_delimiters(text: str) -> str:
    for delimiter in DELIMITERS:
        text = text.replace(delimiter, "\n")
    return text
