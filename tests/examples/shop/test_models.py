"""The models in the repository: they load, and they do what the demo needs of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from examples.shop.scenarios import scenarios
from examples.shop.signatures import as_functions, signatures
from examples.shop.training.batches import encode
from examples.shop.training.measure import LONGEST, calls_of, go_on, prompt_ids, spell
from examples.shop.training.save import load
from examples.shop.training.transcripts import transcripts
from examples.shop.training.vocabulary import CONTEXT, DELIMITERS
from examples.shop.world import make_world

MODELS = Path(__file__).parents[3] / "examples" / "shop" / "models"
NAMES = ("target", "drafter", "weak")

Loaded = tuple[PreTrainedTokenizerFast, LlamaForCausalLM]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of a busy machine wait for each other; models as small as these need one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def target() -> Loaded:
    return load(MODELS / "target")


def test_the_three_weigh_little_and_share_one_vocabulary() -> None:
    assert sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file()) < 10_000_000
    assert len({(MODELS / name / "tokenizer.json").read_bytes() for name in NAMES}) == 1
    sizes = [sum(p.numel() for p in load(MODELS / name)[1].parameters()) for name in NAMES]
    assert sizes[0] > 5 * sizes[1] == 5 * sizes[2]


def test_any_text_survives_the_vocabulary(target: Loaded) -> None:
    tokenizer, _ = target
    texts = [
        "Grüße aus Riga, 12 °C 🙂\n\ttabs",
        '{"name": "x", "arguments": {"a": "</tool_call>"}}',
        "\x00\x7f",
        "  a  b ",
    ]
    for transcript, _ in zip(transcripts(99), range(20), strict=False):
        texts += [message["content"] for message in transcript.messages]
    for text in texts:
        assert tokenizer.decode(encode(tokenizer, text)) == text


def test_delimiters_and_digits_are_single_tokens_that_printing_keeps(target: Loaded) -> None:
    tokenizer, _ = target
    for delimiter in DELIMITERS:
        ids = encode(tokenizer, delimiter)
        assert len(ids) == 1
        assert tokenizer.decode(ids, skip_special_tokens=True) == delimiter
    assert len(encode(tokenizer, "W4711")) == 5
    assert encode(tokenizer, "<|im_end|>") == [tokenizer.eos_token_id]


def test_the_template_tells_the_tools_in_one_line_each(target: Loaded) -> None:
    tokenizer, _ = target
    turns = [{"role": "user", "content": "Where is order W123?"}]
    lines = "\n".join(tool.line for tool in signatures())
    by_tools = tokenizer.apply_chat_template(
        turns, tools=as_functions(), tokenize=False, add_generation_prompt=True
    )
    by_system = tokenizer.apply_chat_template(
        [{"role": "system", "content": lines}, *turns], tokenize=False, add_generation_prompt=True
    )
    assert by_tools == by_system
    assert by_tools == (
        f"<|im_start|>system\n{lines}<|im_end|>\n"
        "<|im_start|>user\nWhere is order W123?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert len(encode(tokenizer, str(by_tools))) + LONGEST < CONTEXT


def test_the_target_spells_the_calls_that_it_is_asked_for(target: Loaded) -> None:
    tokenizer, model = target
    right = wanted = 0
    for scenario in scenarios(make_world(), 5):
        ids = go_on(model, prompt_ids(tokenizer, scenario.ask), LONGEST)
        assert ids[-1] == tokenizer.eos_token_id
        calls = calls_of(str(tokenizer.decode(ids, skip_special_tokens=True)))
        assert calls is not None, scenario.ask
        assert (
            len(calls)
            == len(scenario.calls)
            == len(spell([str(tokenizer.decode([token])) for token in ids]).blocks)
        )
        wanted += len(calls)
        right += sum(got == want for got, want in zip(calls, scenario.calls, strict=True))
    assert right >= 0.6 * wanted


def test_a_text_that_spells_no_call_is_not_taken_for_one() -> None:
    good = '<tool_call>{"name": "get_order", "arguments": {"order_id": "W1"}}</tool_call>'
    assert calls_of("no call") == []
    assert len(calls_of(good) or []) == 1
    for bad in (
        good[:-1],
        good.replace("get_order", "get"),
        good.replace("order_id", "id"),
        good.replace("}}", "}"),
    ):
        assert calls_of(bad) is None
