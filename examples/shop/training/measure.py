"""How well the target spells calls, and how much of a drafter's work it keeps, greedily."""

import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from examples.shop.scenarios import Call, Pick, Scenario, draw
from examples.shop.signatures import as_functions
from examples.shop.tools import ARGUMENTS
from examples.shop.training.batches import encode
from examples.shop.world import make_world

LONGEST = 160
"""Tokens of a message at most; the longest that a scenario asks for is about 100."""
OPENER, CLOSER = "<tool_call>", "</tool_call>"
BLOCK = re.compile(f"{OPENER}(.*?){CLOSER}", re.S)
HELD_OUT = "shop measure"


def prompt_ids(tokenizer: PreTrainedTokenizerFast, ask: str) -> list[int]:
    """The prompt of one request, as the demo renders it."""
    turns = [{"role": "user", "content": ask}]
    text = tokenizer.apply_chat_template(
        turns, tools=list(as_functions()), add_generation_prompt=True, tokenize=False
    )
    return encode(tokenizer, str(text))


def go_on(model: LlamaForCausalLM, ids: list[int], count: int) -> list[int]:
    """Up to ``count`` greedy tokens behind ``ids``, the end token included."""
    given = torch.tensor([ids])
    with torch.inference_mode():
        out = model.generate(
            given, attention_mask=torch.ones_like(given), max_new_tokens=count, do_sample=False
        )
    return [int(token) for token in out[0, len(ids) :]]


def calls_of(text: str) -> list[Call] | None:
    """The calls that ``text`` spells; None if a block does not parse, is of no tool, or lacks an argument."""
    found = []
    for body in BLOCK.findall(text):
        try:
            value = json.loads(body)
            call = Call(value["name"], value["arguments"])
        except (ValueError, KeyError, TypeError):
            return None
        wanted = ARGUMENTS[call.name].model_fields if call.name in ARGUMENTS else None
        if set(value) != {"name", "arguments"} or wanted is None or set(call.arguments) != set(wanted):
            return None
        found.append(call)
    return found if text.count(OPENER) == text.count(CLOSER) == len(found) else None


@dataclass
class Tally:
    """What the target kept of one drafter's windows. Regions: prose, frame (of a call), arguments."""

    judged: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    passes: int = 0
    kept: int = 0
    calls: int = 0
    calls_cut_inside: int = 0
    drafted_closed: int = 0
    voided_closed: int = 0
    cut_inside: int = 0

    def rates(self) -> dict[str, float | int]:
        """The measures, rounded."""
        out: dict[str, float | int] = {
            "acceptance": self.accepted.total() / max(1, self.judged.total()),
            **{f"acceptance_{r}": self.accepted[r] / self.judged[r] for r in sorted(self.judged)},
            "tokens_per_target_pass": self.kept / max(1, self.passes),
            "calls_with_a_rejection_in_arguments": self.calls_cut_inside / max(1, self.calls),
            "blocks_drafted_closed": self.drafted_closed,
            "of_them_voided": self.voided_closed,
            "of_them_cut_inside": self.cut_inside,
        }
        return {name: round(value, 3) for name, value in out.items()}


@dataclass(frozen=True, slots=True)
class Spelled:
    """Where each token of a message stands, and the token spans of its closed call blocks."""

    regions: list[str]
    blocks: list[tuple[int, int]]


def spell(pieces: list[str]) -> Spelled:
    """Read token texts; in this vocabulary a delimiter is a token of its own."""
    regions, blocks, start, text = [], [], -1, ""
    for at, piece in enumerate(pieces):
        if piece == OPENER:
            start, text = at, ""
        inside = start >= 0
        in_arguments = inside and piece != CLOSER and '"arguments": {' in text
        regions.append("arguments" if in_arguments else "frame" if inside else "prose")
        text += piece
        if piece == CLOSER and inside:
            blocks.append((start, at + 1))
            start = -1
    return Spelled(regions, blocks)


@dataclass
class Watcher:
    """Lets ``drafter`` draft the target's message ``own``; drafts of a place are made once, ``longest`` tokens long."""

    drafter: LlamaForCausalLM
    tokenizer: PreTrainedTokenizerFast
    prompt: list[int]
    own: list[int]
    longest: int
    drafts: dict[int, list[int]] = field(default_factory=dict)

    def draft(self, head: int, window: int) -> list[int]:
        """At most ``window`` tokens behind the first ``head`` of the message."""
        if head not in self.drafts:
            self.drafts[head] = go_on(self.drafter, self.prompt + self.own[:head], self.longest)
        return self.drafts[head][:window]

    def count(self, tally: Tally, window: int) -> None:
        """Go through the message window by window, as the loop does, and count what is kept."""
        spelled, cuts, head = spell(self.pieces(self.own)), [], 0
        while head < len(self.own):
            draft = self.draft(head, window)
            pairs = enumerate(zip(draft, self.own[head:], strict=False), head)
            cut = next((at for at, (drafted, kept) in pairs if drafted != kept), None)
            end = min(head + len(draft), len(self.own)) if cut is None else cut
            for at in range(head, end):
                tally.judged[spelled.regions[at]] += 1
                tally.accepted[spelled.regions[at]] += 1
            if cut is not None:
                tally.judged[spelled.regions[cut]] += 1
                cuts.append(cut)
            self._count_closed(tally, head, draft, cut)
            head, tally.passes = end + 1, tally.passes + 1
        tally.kept += len(self.own)
        tally.calls += len(spelled.blocks)
        tally.calls_cut_inside += sum(
            any(start <= cut < end and spelled.regions[cut] == "arguments" for cut in cuts)
            for start, end in spelled.blocks
        )

    def _count_closed(self, tally: Tally, head: int, draft: list[int], cut: int | None) -> None:
        for start, end in spell(self.pieces(self.own[:head] + draft)).blocks:
            tally.drafted_closed += end > head
            tally.voided_closed += cut is not None and end > cut
            tally.cut_inside += cut is not None and start < cut < end

    def pieces(self, ids: list[int]) -> list[str]:
        """The text of each token."""
        return [str(piece) for piece in self.tokenizer.batch_decode([[token] for token in ids])]


def held_out(count: int) -> list[Scenario]:
    """Requests over worlds that training did not draw."""
    r = random.Random(HELD_OUT)
    return [draw(Pick(make_world(r.getrandbits(40)), r)) for _ in range(count)]


@dataclass(frozen=True, slots=True)
class Answered:
    """The target's own greedy message for one request."""

    scenario: Scenario
    prompt: list[int]
    ids: list[int]
    text: str


def answer_all(
    target: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, asked: list[Scenario]
) -> list[Answered]:
    """The target's greedy answers."""
    answers = []
    for scenario in asked:
        prompt = prompt_ids(tokenizer, scenario.ask)
        ids = go_on(target, prompt, LONGEST)
        answers.append(Answered(scenario, prompt, ids, str(tokenizer.decode(ids, skip_special_tokens=True))))
    return answers


def spelling(answers: list[Answered]) -> dict[str, float | int]:
    """How many messages parse, how many are the calls asked for, and the same call by call."""
    parsed = [calls_of(answer.text) for answer in answers]
    wanted = [call for answer in answers for call in answer.scenario.calls]
    right = sum(
        got == want
        for answer, calls in zip(answers, parsed, strict=True)
        for got, want in zip(calls or [], answer.scenario.calls, strict=False)
    )
    return {
        "messages": len(answers),
        "valid_messages": round(sum(bool(calls) for calls in parsed) / len(answers), 3),
        "exact_messages": round(
            sum(c == list(a.scenario.calls) for a, c in zip(answers, parsed, strict=True)) / len(answers), 3
        ),
        "calls": len(wanted),
        "exact_calls": round(right / len(wanted), 3),
    }


def drafting(
    drafter: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    answers: list[Answered],
    windows: Sequence[int],
) -> dict[int, dict[str, float | int]]:
    """What the target keeps of ``drafter``, by window."""
    tallies = {window: Tally() for window in windows}
    for answer in answers:
        watcher = Watcher(drafter, tokenizer, answer.prompt, answer.ids, max(windows))
        for window, tally in tallies.items():
            watcher.count(tally, window)
    return {window: tally.rates() for window, tally in tallies.items()}
