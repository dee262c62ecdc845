"""How the calls of a stream stand to each other: what order and freshness see of each, kept up while events unfold."""

from dataclasses import dataclass

from effects import order
from effects.classes import EffectClass, highest
from effects.intent import IntentState, Release
from effects.table import Classification
from gateway.turn.tables import TableInForce
from gateway.turn.unfolding import Unfolding
from ledger.state import Intent


@dataclass(frozen=True, slots=True)
class Case:
    """One call before the gate: the intent, what the table says of it now, its class for this decision, and its view."""

    intent: Intent
    judged: Classification
    effect: EffectClass
    view: order.CallView


class Standing:
    """The cases of one stream. ``refresh`` brings them up to what has unfolded; only what changed is made anew."""

    def __init__(self, unfolding: Unfolding, force: TableInForce) -> None:
        self._unfolding = unfolding
        self._force = force
        self._cases: dict[str, Case] = {}
        self._open: dict[str, order.CallView] = {}
        self._settled: dict[str, order.CallView] = {}
        self._reads: dict[tuple[str, str], set[str]] = {}
        self._early: set[str] = set()
        self._seq = -1
        self.refresh()

    def refresh(self) -> None:
        """Take note of every intent that has changed."""
        state = self._unfolding.state
        if state.seq == self._seq:
            return
        self._seq = state.seq
        for intent_id, intent in state.intents.items():
            known = self._cases.get(intent_id)
            if known is None or known.intent is not intent:
                self._note(_case(intent, self._force))

    def case(self, intent_id: str) -> Case:
        """The case of one intent as it stands now."""
        self.refresh()
        return self._cases[intent_id]

    def living(self) -> list[str]:
        """Ids of the intents that are not terminal, by branch and place."""
        self.refresh()
        alive = [self._cases[intent_id].intent for intent_id in self._open]
        return [i.intent_id for i in sorted(alive, key=lambda i: (i.branch, i.place))]

    def waits(self, case: Case, *, strict_writes: bool) -> bool:
        """Whether something must be over before this call may go or be final. Terminal calls keep nobody waiting."""
        others = (view for other, view in self._open.items() if other != case.intent.intent_id)
        return not order.earlier_terminal(case.view, others, strict_writes=strict_writes)

    def overtaken_by(self, case: Case) -> int | None:
        """The latest settling that the answer of this read did not see."""
        others = (view for other, view in self._settled.items() if other != case.intent.intent_id)
        return order.overtaken_by(case.view, others)

    def equal_reads(self, case: Case) -> list[Intent]:
        """The other reads, terminal ones too, with the tool and the canonical arguments of this call."""
        self.refresh()
        same = self._reads.get(_call(case.intent), ()) if case.intent.arguments_digest is not None else ()
        return [self._cases[other].intent for other in same if other != case.intent.intent_id]

    def early_beside(self, case: Case) -> int:
        """How many other reads of the commit key were let go early and have no answer yet."""
        self.refresh()
        return len(self._early - {case.intent.intent_id})

    def _note(self, case: Case) -> None:
        intent_id = case.intent.intent_id
        self._cases[intent_id] = case
        (self._early.add if _outstanding(case.intent) else self._early.discard)(intent_id)
        if case.view.terminal:
            self._open.pop(intent_id, None)
        else:
            self._open[intent_id] = case.view
        if case.view.settled_seq is not None and case.effect is not EffectClass.READ_ONLY:
            self._settled[intent_id] = case.view
        if case.effect is EffectClass.READ_ONLY:
            self._reads.setdefault(_call(case.intent), set()).add(intent_id)


def _outstanding(intent: Intent) -> bool:
    """Whether an early read was let go and has no answer, whatever became of its block."""
    waits = intent.state is IntentState.RELEASED or intent.open_attempt is not None
    return waits and intent.release is Release.EARLY


def _call(intent: Intent) -> tuple[str, str]:
    return (intent.tool or "", intent.arguments_digest or "")


def _case(intent: Intent, force: TableInForce) -> Case:
    judged = force.classify(intent.tool, intent.arguments_raw)
    sent = intent.state in (IntentState.DISPATCHED, IntentState.IN_DOUBT, IntentState.SETTLED)
    # What was sent was sent in the class of its release; what was not is decided in the higher of then and now.
    # Of what is redacted nobody can say any more what it would be now.
    effect = intent.effect if sent or intent.redacted else highest(intent.effect, judged.effect)
    view = order.CallView(
        branch=intent.branch,
        place=intent.place,
        effect=effect,
        # What is sent goes where the table says then, and touches what is there.
        footprint=intent.footprint if sent or intent.redacted or not judged.known else judged.footprint,
        terminal=intent.terminal,
        exposed=intent.open_attempt is not None or intent.state is IntentState.IN_DOUBT,
        dispatched_seq=intent.dispatch_seq,
        settled_seq=intent.settled_seq,
    )
    return Case(intent, judged, effect, view)
