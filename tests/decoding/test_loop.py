"""The loop over table models: every place where a window can be cut, end, fail or be interrupted."""

import itertools

import numpy as np
import pytest

from decoding.drafters.ngram import NgramDrafter
from decoding.errors import ModelRefused, OptionsError, SinkError
from decoding.loop import run_turn
from decoding.models.drafter import ModelDrafter
from decoding.options import LoopOptions
from decoding.progress import Accepted, Drafted, Finished, Ruled
from decoding.sampling import Sampling
from decoding.vocabulary import Vocabulary
from tests.decoding.drafting import Corrupted, Scripted
from tests.decoding.sinks import MemorySink
from tests.decoding.tables import END, TableModel, hashed, letters, scripted

PROMPT = (1, 2, 3)
SAMPLED = Sampling(temperature=0.8, seed=11)


def turn(target, drafter=None, *, sink=None, observer=None, cancelled=None, prompt=PROMPT, **options):
    sink = sink or MemorySink()
    result = run_turn(target, drafter, prompt, sink, LoopOptions(**options), observer, cancelled=cancelled)
    assert tuple(sink.ids) == result.ids
    assert sink.text == result.text
    assert sink.finished == result.finish_reason
    return result, sink


def drafters():
    return [
        ModelDrafter(TableModel(hashed("t"), name="same")),
        ModelDrafter(TableModel(hashed("other"), name="other")),
        NgramDrafter(),
    ]


@pytest.mark.parametrize(
    "sampling", [Sampling(), SAMPLED, Sampling(temperature=1.3, top_p=0.9, top_k=7, seed=2)]
)
@pytest.mark.parametrize("window", [1, 2, 5, 8])
def test_the_text_is_that_of_plain_decoding(sampling, window):
    target = TableModel(hashed("t"))
    plain, _ = turn(target, window=0, max_new_tokens=40, sampling=sampling)
    for drafter, offset in itertools.product(drafters(), [None, *range(window)]):
        wrapped = drafter if offset is None else Corrupted(drafter, offset, plain.ids)
        result, sink = turn(target, wrapped, window=window, max_new_tokens=40, sampling=sampling)
        assert (result.ids, result.text) == (plain.ids, plain.text)
        if offset is not None:
            assert wrapped.forced > 1
            cuts = [
                e["accepted"]
                for e in sink.events
                if e["type"] == "tokens.ruled"
                if e["accepted"] < e["end"] - e["start"]
            ]
            assert offset in cuts


def test_plain_decoding_writes_accepted_tokens_only():
    result, sink = turn(TableModel(hashed("t")), None, window=5, max_new_tokens=4)
    assert [e["type"] for e in sink.events] == ["tokens.accepted"] * 4 + ["stream.finished"]
    assert (result.finish_reason, result.target_passes, result.rulings) == ("length", 4, 0)


def test_a_fully_accepted_window_brings_a_bonus_token():
    script = (4, 5, 6, 7, 8, 9)
    result, sink = turn(TableModel(scripted(script, 3)), Scripted(script), window=3)
    first = sink.events[1]
    assert (first["start"], first["end"], first["accepted"]) == (0, 3, 3)
    assert (first["token"]["id"], first["target_source"]) == (7, "bonus")
    assert result.ids == (*script, END)
    assert result.round == sink.round == 0
    assert result.target_passes == 2


def test_a_rejection_begins_a_new_round_and_carries_what_an_auditor_needs():
    result, sink = turn(
        TableModel(scripted((4, 5, 6), 3)), Scripted((4, 9, 6)), window=3, sampling=Sampling(seed=3)
    )
    drafted, ruled = sink.events[:2]
    assert drafted["tokens"][0] == {"text": "d", "id": 4, "drafter": "scripted"}
    assert ruled["token"] == {"text": "e", "id": 5}
    expected = {
        "branch": "main",
        "round": 0,
        "accepted": 1,
        "ruling_id": "main:0:0",
        "rule": "match",
        "mode": "chain",
        "target_source": "match",
        "window": 3,
        "params_digest": Sampling(seed=3).digest(),
        "min_margin": 9.0,
        "proposals": [
            {
                "drafter": "scripted",
                "kind": "point",
                "tokenizer_digest": "sha256:letters",
                "parent": [-1, 0, 1],
                "ids": [4, 9, 6],
            }
        ],
    }
    assert {key: ruled[key] for key in expected} == expected
    assert ruled["draft_ms"] >= 0 <= ruled["verify_ms"]
    assert sink.events[2]["round"] == 1
    counts = result.drafters["scripted"]
    assert (counts.drafted, counts.accepted, counts.rejected, counts.unreached) == (4, 2, 1, 1)


@pytest.mark.parametrize("window", [1, 2, 5, 8])
@pytest.mark.parametrize("length", range(10))
@pytest.mark.parametrize("wrong_end", [False, True])
def test_nothing_follows_an_end_wherever_it_falls(window, length, wrong_end):
    script = tuple(1 + i % 15 for i in range(length))
    beyond = (*script, 7 if wrong_end else END, 8, 9, 10, 11, 12, 13, 14, 15)
    result, sink = turn(TableModel(scripted(script, 3)), Scripted(beyond), window=window, max_new_tokens=50)
    assert result.ids == (*script, END)
    assert result.finish_reason == "stop"
    assert result.text == "".join(letters().pieces[i].decode() for i in script)
    drafted = [t["id"] for e in sink.events if e["type"] == "tokens.drafted" for t in e["tokens"]]
    if not wrong_end:
        assert END not in drafted or drafted[-1] == END
        assert sum(c.accepted for c in result.drafters.values()) <= length + 1


@pytest.mark.parametrize("window", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("at", range(9))
def test_nothing_follows_a_stop_string_wherever_it_falls(window, at):
    script = [1] * 20
    script[at : at + 2] = [2, 3]  # "bc"
    for drafts in (script, [1] * 20):
        result, sink = turn(
            TableModel(scripted(script, 3)), Scripted(drafts), window=window, stops=("zz", "bc")
        )
        assert result.text == "a" * at + "bc"
        assert result.finish_reason == "stop"
        assert sink.events[-1] == {"type": "stream.finished", "reason": "stop"}


@pytest.mark.parametrize("window", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("cap", range(1, 12))
def test_the_cap_is_met_exactly(window, cap):
    script = (1,) * 30
    result, _ = turn(TableModel(scripted(script, 3)), Scripted(script), window=window, max_new_tokens=cap)
    assert (len(result.ids), result.finish_reason) == (cap, "length")
    full, _ = turn(TableModel(scripted(script, 3), context_limit=3 + cap), Scripted(script), window=window)
    assert (len(full.ids), full.finish_reason) == (cap, "length")


@pytest.mark.parametrize("window", [0, 1, 2, 3, 5])
def test_characters_split_over_tokens_and_windows_survive(window):
    vocabulary = Vocabulary(
        (b"<end>", *(bytes([i]) for i in range(1, 256))), frozenset({END}), "sha256:bytes"
    )
    script = tuple("é€😀 né".encode())
    target = TableModel(scripted(script, 3, width=256), vocabulary)
    for wrong in [None, *range(len(script))]:
        drafts = [token if i != wrong else 0xFF for i, token in enumerate(script)]
        result, sink = turn(target, Scripted(drafts), window=window)
        assert result.text == "é€😀 né"
        texts = [t["text"] for e in sink.events if e["type"] == "tokens.accepted" for t in e["tokens"]]
        if window == 0:
            assert texts[:6] == ["", "é", "", "", "€", ""]


@pytest.mark.parametrize("stop_after", range(24))
def test_a_resumed_turn_goes_on_at_head_with_the_text_of_an_unbroken_one(stop_after):
    """The first writer dies after ``stop_after`` batches; drafts that nothing ruled on are voided by the second."""
    options = {"window": 3, "max_new_tokens": 30, "sampling": SAMPLED}
    target = TableModel(hashed("t"))
    whole, _ = turn(target, None, **options)

    class Dies(MemorySink):
        def submit(self, batch):
            if self.batches == stop_after:
                raise KeyboardInterrupt
            return super().submit(batch)

    sink = Dies()
    with pytest.raises(KeyboardInterrupt):
        turn(target, drafters()[1], sink=sink, **options)
    again = MemorySink(round=sink.round, ids=sink.ids, texts=sink.texts, pending=sink.pending)
    head, pending, round_before = len(sink.ids), len(sink.pending), sink.round
    assert sink.finished is None
    result, _ = turn(target, drafters()[1], sink=again, **options)
    assert result.ids == whole.ids
    assert result.resumed_at == head
    assert again.round >= round_before + (1 if pending else 0)
    first = again.events[0]
    assert first["type"] == "stream.finished" or first.get("start", head) == head


@pytest.mark.parametrize("head", range(12))
def test_a_turn_resumes_inside_a_character_and_inside_a_stop_string(head):
    vocabulary = Vocabulary(
        (b"<end>", *(bytes([i]) for i in range(1, 256))), frozenset({END}), "sha256:bytes"
    )
    script = tuple("é€😀 né, and more".encode())
    target = TableModel(scripted(script, 3, width=256), vocabulary)
    whole, unbroken = turn(target, None, stops=("né",))
    sink = MemorySink(ids=unbroken.ids[:head], texts=unbroken.texts[:head])
    result, _ = turn(target, Scripted(script), sink=sink, stops=("né",))
    assert (result.ids, sink.texts) == (whole.ids, unbroken.texts)
    assert result.text == "é€😀 né"
    assert (result.finish_reason, result.resumed_at) == ("stop", head)


def test_a_turn_that_had_ended_is_only_finished():
    for ids, texts, stops, reason in (
        ([1, END], ["a", ""], (), "stop"),
        ([1, 2], ["a", "b"], ("ab",), "stop"),
        ([1] * 9, ["a"] * 9, (), "length"),
    ):
        sink = MemorySink(ids=ids, texts=texts)
        result, _ = turn(TableModel(hashed("t")), None, sink=sink, stops=stops, max_new_tokens=9)
        assert [e["type"] for e in sink.events] == ["stream.finished"]
        assert (result.finish_reason, result.target_passes) == (reason, 0)


@pytest.mark.parametrize(
    ("ids", "texts", "code", "error"),
    [
        ([1, 2], ["a", "x"], "resume_mismatch", ModelRefused),
        ([1, 99], ["a", "x"], "resume_mismatch", ModelRefused),
    ],
)
def test_a_text_of_another_tokenizer_is_not_resumed(ids, texts, code, error):
    sink = MemorySink(ids=ids, texts=texts)
    with pytest.raises(error) as refused:
        turn(TableModel(hashed("t")), None, sink=sink)
    assert refused.value.code == code
    assert sink.finished == "error"


def test_accepted_tokens_without_ids_are_not_resumed():
    class NoIds(MemorySink):
        def open(self):
            opened = super().open()
            return type(opened)(opened.epoch, opened.head, opened.round, (), opened.text)

    with pytest.raises(SinkError) as refused:
        turn(TableModel(hashed("t")), None, sink=NoIds(ids=[1], texts=["a"]))
    assert refused.value.code == "resume_without_ids"


def test_drafts_are_submitted_before_the_target_sees_them():
    sink = MemorySink()
    target = TableModel(hashed("t"))
    seen = []
    scores = target.scores

    def watched(ids, last):
        seen.append((last, [e["type"] for e in sink.events]))
        return scores(ids, last)

    target.scores = watched
    turn(target, drafters()[0], sink=sink, window=4, max_new_tokens=10)
    assert all(types[-1] == "tokens.drafted" for last, types in seen if last > 1)


def test_the_loop_runs_ahead_of_answers_up_to_its_limit():
    sink = MemorySink(answers=0)
    with pytest.raises(SinkError) as refused:
        turn(TableModel(hashed("t")), drafters()[0], sink=sink, window=2, outstanding=5, ack_timeout=0.0)
    assert refused.value.code == "sink_timeout"
    assert sink.batches == 5
    assert [e["type"] for e in sink.events][:4] == ["tokens.drafted", "tokens.ruled"] * 2


def test_late_answers_are_collected_as_they_come():
    class Lagging(MemorySink):
        """Answers each batch when the third after it is submitted."""

        def submit(self, batch):
            self.answers = self.batches - 2
            return super().submit(batch)

    sink = Lagging()
    with pytest.raises(AssertionError, match="for ever"):
        turn(
            TableModel(hashed("t")),
            drafters()[0],
            sink=sink,
            outstanding=4,
            max_new_tokens=9,
            ack_timeout=None,
        )
    assert sink.finished == "length"  # Only the last answers are missing, and only draining waited for them.


@pytest.mark.parametrize("batch", range(9))
def test_a_refused_batch_ends_the_loop_with_the_refusal(batch):
    sink = MemorySink(refuse_at=batch)
    with pytest.raises(SinkError) as refused:
        turn(TableModel(hashed("t")), drafters()[1], sink=sink, window=2, max_new_tokens=200)
    assert refused.value.code == "stale_writer"
    assert sink.batches <= batch + 2
    assert len(sink.events) == batch


def test_only_the_end_is_submitted_after_a_refusal_by_the_model():
    class Broken(Scripted):
        def propose(self, context, position, count, rule):
            return (
                super().propose(context, position, count, rule)
                if position < 4
                else type(super().propose(context, 0, 1, rule))((999,), "point")
            )

    sink = MemorySink()
    with pytest.raises(ModelRefused) as refused:
        turn(TableModel(scripted((1,) * 20, 3)), Broken((1,) * 20), sink=sink, window=2)
    assert refused.value.code == "draft_outside_vocabulary"
    assert sink.finished == "error"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"prompt": ()}, "empty_prompt"),
        ({"prompt": (1, 16)}, "prompt_outside_vocabulary"),
        ({"prompt": (-1,)}, "prompt_outside_vocabulary"),
        ({"target": TableModel(hashed("t"), context_limit=3)}, "prompt_too_long"),
        (
            {
                "drafter": ModelDrafter(
                    TableModel(hashed("t"), Vocabulary((b"a",) * 16, frozenset(), "sha256:else"))
                )
            },
            "tokenizer_mismatch",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_the_stream_is_opened(change, code):
    sink = MemorySink()
    arguments = {"target": TableModel(hashed("t")), "drafter": None, "prompt": PROMPT} | change
    with pytest.raises(ModelRefused) as refused:
        run_turn(arguments["target"], arguments["drafter"], arguments["prompt"], sink)
    assert refused.value.code == code
    assert sink.epoch == 0


@pytest.mark.parametrize("bad", [{"window": -1}, {"max_new_tokens": 0}, {"outstanding": 0}, {"stops": ("",)}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(OptionsError):
        LoopOptions(**bad)


def test_a_cancelled_turn_says_so():
    asked = iter([False, False, True])
    result, sink = turn(TableModel(hashed("t")), drafters()[0], window=2, cancelled=lambda: next(asked))
    assert result.finish_reason == sink.finished == "cancelled"
    assert len(result.ids) == 6


def test_an_observer_sees_what_the_stream_gets():
    seen = []
    result, sink = turn(
        TableModel(hashed("t")),
        drafters()[1],
        window=3,
        max_new_tokens=21,
        sampling=SAMPLED,
        observer=seen.append,
    )
    ids = []
    for event in seen:
        if isinstance(event, Ruled):
            ids += [t.id for t in event.accepted] + ([event.token.id] if event.token else [])
        elif isinstance(event, Accepted):
            ids.append(event.token.id)
    assert tuple(ids) == result.ids
    assert seen[-1] == Finished("length")
    assert len(seen) == len(sink.events)
    counts = result.drafters["other"]
    assert counts.drafted == sum(len(e.tokens) for e in seen if isinstance(e, Drafted))
    assert counts.accepted == sum(len(e.accepted) for e in seen if isinstance(e, Ruled))
    assert counts.rejected + counts.unreached == sum(len(e.rejected) for e in seen if isinstance(e, Ruled))
    assert counts.rejected == result.round
    assert min(counts.accepted, counts.rejected, counts.unreached) > 0


def test_where_arithmetic_depends_on_width_the_first_divergence_is_a_recorded_near_tie():
    """Scores that differ by 1e-6 with the width of the pass, as in float32, and ids that are nearly tied."""

    class Jittery(TableModel):
        def scores(self, ids, last):
            rows = np.round(super().scores(ids, last))
            return rows + 1e-6 * np.sin(np.arange(rows.shape[1]) * last)

    target = Jittery(hashed("t"))
    plain, _ = turn(target, None, window=0, max_new_tokens=60)
    margins = {}

    def note(event):
        if isinstance(event, Ruled):
            judged = len(event.accepted) + 1
            margins.update({event.start + i: event.margin for i in range(judged)})

    wide, _ = turn(target, Scripted(plain.ids), window=5, max_new_tokens=60, observer=note)
    assert wide.ids != plain.ids
    first = next(
        i for i, (ours, theirs) in enumerate(zip(wide.ids, plain.ids, strict=True)) if ours != theirs
    )
    assert margins[first] < 1e-5
