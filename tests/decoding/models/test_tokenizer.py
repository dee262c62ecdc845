import json

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from decoding.errors import ModelRefused
from decoding.models.pieces import pieces_of
from decoding.models.tokenizer import ChatTokenizer
from decoding.prompt import signature, with_signatures
from decoding.text import Speller
from tests.decoding.models import tiny

TOOL = {
    "type": "function",
    "function": {
        "name": "get_order",
        "description": "Look up\none order.",
        "parameters": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "depth": {"type": "integer"}, "free": {}},
            "required": ["order_id"],
        },
    },
}
LINE = "get_order(order_id: string, depth?: integer, free?: any) - Look up one order."
ASK = [{"role": "user", "content": "Where is W1?"}]


@pytest.fixture(scope="module")
def tokenizer():
    return ChatTokenizer(tiny.byte_tokenizer())


@pytest.mark.parametrize("text", ["plain", "é€😀\n\ttab", '<tool_call>{"a": "<"}</tool_call>', ""])
def test_ids_spell_the_text_that_they_encode(tokenizer, text):
    ids = tokenizer.encode(text)
    assert b"".join(map(tokenizer.vocabulary.piece, ids)) == text.encode()
    assert Speller(tokenizer.vocabulary).spell_all(ids)[0] == text


def test_marks_are_single_ids_and_only_the_end_spells_nothing(tokenizer):
    (call,), (end,), (start,) = map(tokenizer.encode, ("<tool_call>", "<|im_end|>", "<|im_start|>"))
    vocabulary = tokenizer.vocabulary
    assert (vocabulary.piece(call), vocabulary.piece(end)) == (b"<tool_call>", b"")
    assert vocabulary.piece(start) == b"<|im_start|>"
    assert vocabulary.ends == {end}
    assert ChatTokenizer(tiny.byte_tokenizer(), ends=[call]).vocabulary.ends == {end, call}


def test_the_chat_template_renders_once_with_tools_on_one_line(tokenizer):
    assert tokenizer.render_prompt(ASK) == (
        "<|im_start|>user\nWhere is W1?<|im_end|>\n<|im_start|>assistant\n"
    )
    rendered = tokenizer.render_prompt(ASK, [TOOL])
    assert rendered.startswith("<|im_start|>system\n")
    assert f"\n{LINE}<|im_end|>" in rendered
    ids = tokenizer.encode_prompt(ASK, [TOOL])
    assert ids == tokenizer.encode(rendered)
    assert ids.count(tokenizer.encode("<|im_start|>")[0]) == 3


def test_a_template_that_knows_tools_renders_them_itself():
    aware = "{% for t in tools or [] %}[{{ t['function']['name'] }}]{% endfor %}" + tiny.TEMPLATE
    rendered = ChatTokenizer(tiny.byte_tokenizer(aware)).render_prompt(ASK, [TOOL])
    assert rendered == "[get_order]<|im_start|>user\nWhere is W1?<|im_end|>\n<|im_start|>assistant\n"


def test_signatures_join_a_system_message_that_is_there():
    assert signature(TOOL) == signature(TOOL["function"]) == LINE
    assert signature({"name": "ping"}) == "ping()"
    system = [{"role": "system", "content": "Be brief."}, *ASK]
    joined = with_signatures(system, [TOOL])
    assert joined[0]["content"].startswith("Be brief.\n\n")
    assert joined[0]["content"].endswith(LINE)
    assert system[0]["content"] == "Be brief."
    assert with_signatures(ASK, []) == ASK


def test_without_a_chat_template_chats_are_refused():
    plain = ChatTokenizer(tiny.byte_tokenizer(None))
    with pytest.raises(ModelRefused) as refused:
        plain.render_prompt(ASK)
    assert refused.value.code == "no_chat_template"
    assert plain.encode("Hi")


def test_the_digest_names_the_tokenizer_not_its_settings():
    digest = ChatTokenizer(tiny.byte_tokenizer()).vocabulary.digest
    padded = tiny.byte_tokenizer()
    padded.backend_tokenizer.enable_truncation(8)
    assert ChatTokenizer(padded).vocabulary.digest == digest
    more = tiny.byte_tokenizer()
    more.add_tokens(["<more>"])
    assert ChatTokenizer(more).vocabulary.digest != digest
    merged = json.loads(tiny.byte_tokenizer().backend_tokenizer.to_str())
    merged["model"]["vocab"]["th"] = 400
    merged["model"]["merges"] = [["t", "h"]]
    other = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(merged)))
    assert ChatTokenizer(other).vocabulary.digest != digest
    assert other.backend_tokenizer.get_vocab_size() == 261


def test_sentencepiece_tokens_spell_bytes_too():
    tokenizer = Tokenizer(models.BPE(vocab={"▁a": 0, "b": 1, "<0xC3>": 2, "<0xA9>": 3}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    pieces = pieces_of(tokenizer.to_str(), tokenizer.get_vocab())
    assert pieces == (b" a", b"b", b"\xc3", b"\xa9")
    assert tokenizer.decode([1, 2, 3]).encode() == b"".join(pieces[1:])


def test_tokenizers_whose_tokens_do_not_spell_bytes_are_refused():
    tokenizer = Tokenizer(models.WordPiece(vocab={"a": 0, "##b": 1, "[UNK]": 2}, unk_token="[UNK]"))
    tokenizer.decoder = decoders.WordPiece()
    with pytest.raises(ModelRefused) as refused:
        ChatTokenizer(PreTrainedTokenizerFast(tokenizer_object=tokenizer))
    assert refused.value.code == "tokenizer_not_supported"
