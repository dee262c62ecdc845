"""A model's tokenizer: prompts are rendered and encoded here, once; ids are spelled by ``decoding.text``."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from decoding.errors import ModelRefused
from decoding.models.pieces import pieces_of
from decoding.prompt import Message, Tool, with_signatures
from decoding.vocabulary import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class ChatTokenizer:
    """Encodes text and chat prompts for one model.

    ``ends``: further ids that end a message, beside the tokenizer's own. Raises ``ModelRefused``
    (``tokenizer_not_supported``) where the tokenizer has no fast form or its ids do not spell bytes.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase", ends: Iterable[int] = ()) -> None:
        """See the class."""
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ModelRefused("only fast tokenizers are supported", code="tokenizer_not_supported")
        serialised = backend.to_str()
        own = tokenizer.eos_token_id
        self._tokenizer = tokenizer
        self.vocabulary = Vocabulary(
            pieces=pieces_of(serialised, tokenizer.get_vocab()),
            ends=frozenset(ends) | (frozenset() if own is None else {own}),
            digest=digest_of(serialised),
        )

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of ``text`` as it stands: nothing is added before or behind it."""
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def render_prompt(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> str:
        """The prompt that the model's chat template makes of ``messages``, up to where its own message
        begins.

        A template that knows ``tools`` renders them itself; for others they stand as one-line signatures in
        the system message. Raises ``ModelRefused`` (``no_chat_template``).
        """
        template = self._tokenizer.chat_template
        if template is None:
            raise ModelRefused("the tokenizer has no chat template", code="no_chat_template")
        own_form = bool(tools) and "tools" in str(template)
        prepared = [dict(message) for message in messages] if own_form else with_signatures(messages, tools)
        rendered = self._tokenizer.apply_chat_template(
            prepared,
            tools=[dict(tool) for tool in tools] if own_form else None,
            add_generation_prompt=True,
            tokenize=False,
        )
        return str(rendered)

    def encode_prompt(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> tuple[int, ...]:
        """Ids of ``render_prompt``."""
        return self.encode(self.render_prompt(messages, tools))


def load_tokenizer(source: str | Path, ends: Iterable[int] = ()) -> ChatTokenizer:
    """The tokenizer of a folder, or of a model named as transformers names it.

    Raises ``ModelRefused`` (``model_not_loadable``, ``tokenizer_not_supported``).
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(source), local_files_only=Path(source).is_dir())
    except (OSError, ValueError) as error:
        raise ModelRefused(f"no tokenizer at {source}: {error}", code="model_not_loadable") from error
    return ChatTokenizer(tokenizer, ends)


def digest_of(serialised: str) -> str:
    """``sha256:`` of the tokenizer's JSON, merges and added tokens included, in one canonical spelling.

    Truncation and padding are left out: they are settings of a call, not of the tokenizer.
    """
    described = json.loads(serialised)
    for setting in ("truncation", "padding"):
        described.pop(setting, None)
    canonical = json.dumps(described, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
