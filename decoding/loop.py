"""The draft/verify loop of one turn.

Per window: drafts are proposed and submitted (``tokens.drafted``) before the target has seen them, so that
early reads may start; then one pass of the target rules on all of them (``tokens.ruled``). Without drafts the
target decodes plainly (``tokens.accepted``). The loop never waits for an answer of the stream unless too many
are out.

What is promised: the text is that of plain decoding with the same seed (rule ``match``), whatever drafts;
nothing behind an end of the message is committed, submitted as accepted, or counted; a turn that was
interrupted goes on at its head, from the accepted ids.
"""

import time
from collections.abc import Callable, Sequence

from decoding import wire
from decoding.drafters.base import Drafter
from decoding.errors import ModelRefused, SinkError
from decoding.options import LoopOptions
from decoding.outbox import Outbox
from decoding.progress import Accepted, Drafted, Finished, FinishReason, LoopEvent, Ruled
from decoding.rules.match import MatchRule
from decoding.sink import EventSink
from decoding.target import TargetModel
from decoding.text import Speller
from decoding.turn import DraftCounts, Turn, TurnResult, resume
from decoding.window import Verdict, Window, propose, verify

Observer = Callable[[LoopEvent], None]


def run_turn(
    target: TargetModel,
    drafter: Drafter | None,
    prompt_ids: Sequence[int],
    sink: EventSink,
    options: LoopOptions | None = None,
    observer: Observer | None = None,
    *,
    cancelled: Callable[[], bool] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> TurnResult:
    """Decode one message to its end, from wherever its stream stands, and return it once every event is
    durable.

    ``prompt_ids``: the rendered prompt, not empty. ``drafter``: None decodes plainly. ``observer`` is told
    what happens, each time after it was submitted. ``cancelled`` is asked before every window; True ends the
    turn with ``cancelled``. ``clock``: seconds, for the measured costs alone.

    Raises ``ModelRefused`` before anything is opened if target, drafter and prompt do not fit; later (scores
    not finite, a draft outside the vocabulary, a resumed text of another tokenizer) after ending the stream
    with ``error``. Raises ``SinkError`` if the stream refuses or does not answer; whatever else is raised
    leaves the stream open, so that another writer may resume it.
    """
    options = options or LoopOptions()
    prompt = _fitting(target, drafter, prompt_ids)
    loop = _Loop(target, drafter, prompt, sink, options, observer, clock)
    try:
        return loop.run(cancelled or (lambda: False))
    except ModelRefused:
        loop.abandon()
        raise


def _fitting(target: TargetModel, drafter: Drafter | None, prompt_ids: Sequence[int]) -> tuple[int, ...]:
    """The prompt as a tuple, if it, target and drafter can work together."""
    prompt = tuple(prompt_ids)
    if not prompt:
        raise ModelRefused("the prompt has no tokens", code="empty_prompt")
    target.vocabulary.require(prompt, code="prompt_outside_vocabulary")
    limit = target.context_limit
    if limit is not None and len(prompt) >= limit:
        raise ModelRefused(
            f"the prompt has {len(prompt)} tokens, {target.name} takes less than {limit}",
            code="prompt_too_long",
        )
    digest = None if drafter is None else drafter.tokenizer_digest
    if drafter is not None and digest not in (None, target.vocabulary.digest):
        raise ModelRefused(
            f"drafter {drafter.name} and target {target.name} have different tokenizers",
            code="tokenizer_mismatch",
        )
    return prompt


class _Loop:
    def __init__(
        self,
        target: TargetModel,
        drafter: Drafter | None,
        prompt: tuple[int, ...],
        sink: EventSink,
        options: LoopOptions,
        observer: Observer | None,
        clock: Callable[[], float],
    ) -> None:
        self._target = target
        self._drafter = drafter
        self._prompt = prompt
        self._sink = sink
        self._options = options
        self._tell = observer or (lambda _: None)
        self._clock = clock
        self._outbox = Outbox(sink, options.outstanding, options.ack_timeout)
        self._speller = Speller(target.vocabulary, options.stops)
        self._rule = MatchRule(options.sampling, options.branch, target.vocabulary.size)
        self._params_digest = options.sampling.digest("match")

    def run(self, cancelled: Callable[[], bool]) -> TurnResult:
        opened = self._sink.open()
        self._target.vocabulary.require(opened.ids, code="resume_mismatch")
        turn = resume(opened, self._speller)
        while (reason := self._reason(turn, cancelled)) is None:
            self._step(turn)
        self._outbox.send(wire.finished(reason))
        self._tell(Finished(reason))
        self._outbox.drain()
        return turn.result(reason)

    def abandon(self) -> None:
        """End the stream with ``error``; what the stream says to that matters less than why."""
        try:
            self._outbox.send(wire.finished("error"))
            self._outbox.drain()
        except SinkError:
            return

    def _reason(self, turn: Turn, cancelled: Callable[[], bool]) -> FinishReason | None:
        if turn.ended:
            return "stop"
        if self._room(turn) <= 0:
            return "length"
        return "cancelled" if cancelled() else None

    def _room(self, turn: Turn) -> int:
        """How many tokens may still be accepted."""
        room = self._options.max_new_tokens
        if self._target.context_limit is not None:
            room = min(room, self._target.context_limit - len(self._prompt))
        return room - turn.head

    def _step(self, turn: Turn) -> None:
        """One window: propose, submit, rule, submit."""
        context = [*self._prompt, *turn.ids]
        began = self._clock()
        window = self._propose(turn, context)
        drafted = self._clock()
        if window is not None:
            self._outbox.send(wire.drafted(self._options.branch, turn.round, turn.head, window.tokens))
            self._tell(Drafted(turn.round, turn.head, window.tokens))
        started = self._clock()
        drafts, ends = ((), False) if window is None else (window.ids, window.ends)
        verdict = verify(self._target, context, turn.head, drafts, self._rule, ends=ends)
        verify_seconds = self._clock() - started
        turn.target_passes += 1
        turn.min_margin = min(turn.min_margin, verdict.margin)
        turn.draft_seconds += drafted - began
        turn.verify_seconds += verify_seconds
        if window is None:
            self._accept(turn, verdict)
        else:
            self._rule_on(turn, window, verdict, (drafted - began) * 1e3, verify_seconds * 1e3)

    def _propose(self, turn: Turn, context: Sequence[int]) -> Window | None:
        """The next window, or None where nothing is drafted. One token of room is left for the target's
        own."""
        count = min(self._options.window, self._room(turn) - 1)
        if self._drafter is None or count <= 0:
            return None
        window = propose(self._drafter, context, turn.head, count, self._rule, self._speller, turn.spelling)
        return window if window.tokens else None

    def _accept(self, turn: Turn, verdict: Verdict) -> None:
        """Plain decoding: the target's token, with nothing pending."""
        if verdict.drawn is None:
            raise AssertionError("a pass without drafts always draws")
        start = turn.head
        token = self._own(turn, verdict.drawn)
        self._outbox.send(wire.accepted(self._options.branch, turn.round, token))
        self._tell(Accepted(turn.round, start, token, verdict.margin))

    def _rule_on(
        self, turn: Turn, window: Window, verdict: Verdict, draft_ms: float, verify_ms: float
    ) -> None:
        """Commit what was accepted and the target's own token; a rejection begins the next round."""
        drafter, start, round_, cut = self._drafter, turn.head, turn.round, verdict.accepted
        if drafter is None:
            raise AssertionError("a window has a drafter")
        turn.rulings += 1
        turn.drafters.setdefault(drafter.name, DraftCounts()).add(len(window.tokens), cut)
        if cut:
            whole = cut == len(window.tokens)
            turn.commit(window.tokens[:cut], window.after[cut - 1], ended=whole and window.ends)
        token = None if verdict.drawn is None else self._own(turn, verdict.drawn)
        turn.round += cut < len(window.tokens)
        judgement = wire.Judgement(
            drafter=drafter.name,
            kind=window.kind,
            tokenizer_digest=drafter.tokenizer_digest or self._target.vocabulary.digest,
            drafts=window.ids,
            params_digest=self._params_digest,
            window=self._options.window,
            draft_ms=draft_ms,
            verify_ms=verify_ms,
            margin=verdict.margin,
        )
        self._outbox.send(wire.ruled(self._options.branch, round_, start, cut, token, judgement))
        rejected = window.tokens[cut:]
        self._tell(
            Ruled(round_, start, window.tokens[:cut], rejected, token, verdict.margin, draft_ms, verify_ms)
        )

    def _own(self, turn: Turn, drawn: int) -> wire.Token:
        """Commit a token of the target's own behind the head."""
        spelled = self._speller.spell(turn.spelling, drawn)
        token = wire.Token(drawn, spelled.text)
        turn.commit([token], spelled.after, ended=spelled.ends)
        return token
