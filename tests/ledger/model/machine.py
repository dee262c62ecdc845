"""Histories: hypothesis writes, rules, takes over, posts, sends, loses and resolves; ``Both`` compares after every step.

Each step is one kind of act and one number from which everything else about it is drawn: hypothesis chooses and shrinks the
sequence of acts, and what happened is told in plain words by ``Both.story``. It leans towards the acts whose names come
first in the alphabet; so those that move a stream on are named to come before those that get in its way.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from gateway.turn.opening import StreamTerms
from ledger.state import Intent
from tests.ledger.model import faults, speech
from tests.ledger.model.both import Begin, Both
from tests.ledger.model.lanes import Lane
from tests.ledger.model.scenes import SCENES
from tests.ledger.model.speech import Dice
from tests.ledger.model.stream import Said
from tests.ledger.model.tools import POLICIES
from tests.ledger.model.verbs import COMMON, VERBS, fits

OTHER_TERMS = (
    StreamTerms(branches=("other",)),
    StreamTerms(branches_mode="agree"),
    StreamTerms(format="other"),
    StreamTerms(threshold=0.5),
    StreamTerms(binding={"kind": "pair"}),
)
PAUSES = (0.001, 1.0, 61.0, 301.0, 601.0, 3601.0)


def act(method: Callable[[Any, Dice], None]) -> Any:
    """A rule that draws one number. One that comes again in a history stands for other choices the next time."""

    def do(self: "Histories", number: int) -> None:
        self.drawn[number] += 1
        method(self, Dice(number + 2**32 * self.drawn[number]))

    do.__name__ = do.__qualname__ = method.__name__
    do.__doc__ = method.__doc__
    return rule(number=st.integers(0, 2**30))(do)


class Histories(RuleBasedStateMachine):
    """``begin``: what histories are played on. ``seen``: what they came to, over all of them."""

    begin: ClassVar[Begin]
    seen: ClassVar[Counter[str]]

    @initialize(number=st.integers(0, 2**30))
    def open(self, number: int) -> None:
        dice = Dice(number)
        self.drawn: Counter[int] = Counter()
        self.written = 0
        self.last: tuple[int, list[Said]] | None = None
        source = dice.pick(("detected", "detected", "posted"))
        lanes = dice.pick((1, 1, 2, 3))
        self.both = Both(type(self).begin, dice.pick(POLICIES), source, lanes, self.seen)
        self.seen["histories"] += 1
        self.seen[f"histories of {lanes} branches, {source}"] += 1

    def teardown(self) -> None:
        if hasattr(self, "both"):
            self.both.end()

    # --- the writer

    @act
    def draft_or_rule(self, dice: Dice) -> None:
        if self._is_over(dice):
            return
        name, lane = self._lane(dice)
        acts = (self._judge, self._judge, self._accept_drafts, self._draft) if lane.pending else (
            self._draft, self._draft, self._draft, self._draft, self._say, self._say, self._judge
        )  # fmt: skip
        dice.pick(acts)(dice, name, lane)

    @act
    def decode(self, dice: Dice) -> None:
        """Drafts and their ruling, in one batch or in two; what may go early is sent in between."""
        if self._is_over(dice):
            return
        name, lane = self._lane(dice)
        if dice.one_in(3):
            drafted = speech.drafted(dice, name, lane)
            window = len(lane.pending) + len(drafted["tokens"])  # type: ignore[arg-type]
            self._write(drafted, speech.ruling(name, lane, window, dice.below(window)))
            return
        self._draft(dice, name, lane)
        if dice.one_in(2):
            self._dispatch(dice)
        dice.pick((self._judge, self._accept_drafts))(dice, name, self.both.model.lanes[name])
        if dice.one_in(3):
            self._dispatch(dice)

    @act
    def scene(self, dice: Dice) -> None:
        """What needs several acts in a row, and happens seldom by chance."""
        name, lane = self._lane(dice)
        said, *words = dice.pick(SCENES)
        self._draft_this(dice, name, lane, str(said))
        for word in words:
            self._play(dice, name, word)

    @act
    def trouble(self, dice: Dice) -> None:
        dice.pick((self._refused, self._refused, self._take_over, self._open_on_other_terms))(dice)

    @precondition(lambda self: self.written > 6)
    @act
    def wind_up(self, dice: Dice) -> None:
        self._write(
            {"type": "stream.finished", "reason": dice.pick(("stop", "length", "error", "cancelled"))}
        )

    @precondition(lambda self: self.last is not None and self.both.real.replays_batches)
    @act
    def replay(self, dice: Dice) -> None:
        self.both.replay(*self.last, same_body=dice.one_in(2))  # type: ignore[misc]

    # --- the runtime

    @act
    def post(self, dice: Dice) -> None:
        name, lane = self._lane(dice)
        if self.both.model.source == "posted" or dice.one_in(2):
            self._post(dice, name, lane, None)

    # --- the dispatcher, and people

    @act
    def dispatch(self, dice: Dice) -> None:
        """What is released, most of it answered at once, some of it lost, some of it left in flight."""
        self._dispatch(dice)

    def _dispatch(self, dice: Dice, verbs: tuple[str, ...] = COMMON) -> None:
        for intent in self.both.intents:
            if intent.state == "released" and not dice.one_in(6) and self.both.claim(intent):
                verb = dice.pick(verbs)
                if verb != "nothing yet":
                    self._handle(self._again(intent), verb)
                if verb == "lose" and dice.one_in(4):
                    self._lose_to_the_end(self._again(intent))

    @act
    def handle(self, dice: Dice) -> None:
        """An outcome that is awaited, late, or of no attempt that anybody remembers; a person's word."""
        verbs = [verb for verb in VERBS if any(fits(i, verb) for i in self.both.intents)]
        if verbs and not dice.one_in(5):
            verb = dice.pick(verbs)
            self._handle(dice.pick([i for i in self.both.intents if fits(i, verb)]), verb)
        elif self.both.intents:
            intent, verb = dice.pick(self.both.intents), dice.pick(VERBS)
            if intent.attempts or verb in ("resolve", "approve", "deny"):
                self._handle(intent, verb)
            else:
                self.both.claim(intent)

    @act
    def wait(self, dice: Dice) -> None:
        self.both.wait(dice.pick(PAUSES), silent=dice.one_in(3))

    # --- how it is done

    def _play(self, dice: Dice, name: str, word: str | float) -> None:
        lane = self.both.model.lanes[name]
        if isinstance(word, float):
            self.both.wait(word)
        elif word == "send":
            self._dispatch(dice, ("nothing yet",))
        elif word == "all":
            self._accept_drafts(dice, name, lane)
        elif word == "reject":
            self._write(speech.ruling(name, lane, len(lane.pending), 0, {"text": "so "}))
        elif word == "a block":
            ends = [
                c.end for c in self.both.model.calls.values() if c.lane == name and c.block == "undecided"
            ]
            if ends:
                window = min(ends) - lane.head
                self._write(speech.ruling(name, lane, window, window))
        elif word.startswith("draft "):
            self._draft_this(dice, name, lane, word.removeprefix("draft "))
        elif word.startswith("post"):
            self._post(dice, name, lane, -1 if word == "post the last" else -2)
        else:
            for intent in [i for i in self.both.intents if fits(i, word)]:
                self._handle(self._again(intent), word)

    def _is_over(self, dice: Dice) -> bool:
        """After the end there is little to write, so that what is left to do with a step is to dispatch."""
        over = self.both.model.finished is not None and not dice.one_in(4)
        if over:
            self._dispatch(dice)
        return over

    def _draft(self, dice: Dice, name: str, lane: Lane) -> None:
        self._write(speech.drafted(dice, name, lane))

    def _draft_this(self, dice: Dice, name: str, lane: Lane, said: str) -> None:
        tokens = speech.tokens(dice, said, lane.drafted_end)
        place: Said = {"branch": name, "round": lane.round, "start": lane.drafted_end}
        self._write({"type": "tokens.drafted", **place, "tokens": tokens})

    def _say(self, dice: Dice, name: str, lane: Lane) -> None:
        """Plain decoding."""
        self._write(speech.accepted(dice, name, lane))

    def _judge(self, dice: Dice, name: str, lane: Lane) -> None:
        ruling = speech.ruled(dice, name, lane)
        kind = speech.what_it_ruled(lane, ruling)
        if self._write(ruling) is None:
            self.seen[kind] += 1

    def _accept_drafts(self, _dice: Dice, name: str, lane: Lane) -> None:
        if lane.pending:
            self._write(speech.ruling(name, lane, len(lane.pending), len(lane.pending)))

    def _post(self, dice: Dice, name: str, lane: Lane, which: int | None) -> None:
        """One of the calls that are spelled, ``which`` from the end; if any will do, now and then with a lie."""
        spelled = [block for block in self.both.model.spelled(name) if block.call()[0] is not None]
        if not spelled:
            return
        block = spelled[max(which, -len(spelled)) if which is not None else dice.below(len(spelled) - 1)]
        said = speech.posted(dice, name, lane, block)
        self.both.post(said if which is not None else said | speech.lie(dice, lane, said))

    def _take_over(self, _dice: Dice) -> None:
        self.both.take_over()

    def _open_on_other_terms(self, dice: Dice) -> None:
        self.both.reopen_as_another(dice.pick(OTHER_TERMS))

    def _again(self, intent: Intent) -> Intent:
        return self.both.real.state.intents[intent.intent_id]

    def _lose_to_the_end(self, intent: Intent) -> None:
        """A call that is in flight, or will be: lost as often as it is sent again."""
        for _ in range(6):
            attempt = self._again(intent).open_attempt
            if attempt is not None:
                self.both.lose(intent, attempt)
            elif not self.both.claim(intent):
                return

    def _write(self, *events: Said) -> str | None:
        self.written += 1
        epoch = self.both.model.epoch
        refused = self.both.write(*events)
        self.last = None if refused else (epoch, list(events))
        return refused

    def _lane(self, dice: Dice) -> tuple[str, Lane]:
        return dice.pick(list(self.both.model.lanes.items()))

    def _refused(self, dice: Dice) -> None:
        events, behind = faults.draw(dice, *self._lane(dice))
        self.last = None
        if self.both.write(*events, epoch=self.both.model.epoch - behind) is None:
            raise AssertionError(f"{events} were written")

    def _handle(self, intent: Intent, verb: str) -> None:
        both, attempt = self.both, max(1, intent.attempts)
        if verb in ("ok", "late"):
            both.answer(intent, attempt, "ok", {"n": attempt, "é": [1.5, None]})
        elif verb == "old":
            both.answer(intent, max(1, attempt - 1), "ok", {"old": True})
        elif verb == "error":
            both.answer(intent, attempt, "tool_error", "no")
        elif verb in ("unsent", "unavailable"):
            unsent = verb == "unsent" and intent.open_attempt == attempt == 1
            both.answer(intent, attempt, "unavailable", {"because": "refused"}, unsent=unsent)
        elif verb == "lose to the end":
            self._lose_to_the_end(intent)
        elif verb == "approve":
            both.approve(intent, of_others=len(both.story) % 9 == 0)
        elif verb == "deny":
            both.deny(intent, of_others=len(both.story) % 5 == 0)
        elif verb == "resolve":
            both.resolve(intent, happened=bool(len(both.story) % 2))
        else:
            both.lose(intent, attempt, 60.0 if verb == "lose for a minute" else 0.0)
