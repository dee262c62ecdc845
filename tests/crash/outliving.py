"""A dispatcher that stands still until its lease is over, its call is in doubt, and a person has said that it did not happen."""

from effects.intent import IntentState
from gateway.failpoints import FailPoint
from tests.crash import plan
from tests.crash.judge import Verdict, judge
from tests.crash.plan import Case
from tests.crash.stage import Stage
from tests.crash.trial import PATIENCE, turns_of
from tests.gateway.toolserver import eventually


def outlive(stage: Stage, planted: str | None = None) -> Verdict:
    """The judgement after the dispatcher went on."""
    number = next(stage.numbers)
    hold = stage.folder / f"hold-{number}"
    [turn, *_] = turns_of(Case(FailPoint.CLAIM_COMMITTED, plan.DISPATCHER, plan.WRITE), number)
    stage.runtime.draft([turn])
    frozen = stage.new_dispatcher(stage.arming(FailPoint.CLAIM_COMMITTED, 1, hold), planted)
    stage.runtime.rule([turn]).join(PATIENCE)
    eventually(hold.exists, within=PATIENCE)
    other = stage.new_dispatcher(None, planted)
    try:

        def doubt() -> str | None:
            state = stage.state(turn.commit_key)
            intents = [] if state is None else list(state.intents.values())
            return next((i.intent_id for i in intents if i.state is IntentState.IN_DOUBT), None)

        stage.runtime.resolve(turn.commit_key, eventually(doubt, within=PATIENCE), happened=False)
        hold.with_suffix(".go").touch()

        def over() -> bool:
            state = stage.state(turn.commit_key)
            late = any(e.type == "dispatch.late" for e in stage.events(turn.commit_key))
            return late and state is not None and all(i.final for i in state.intents.values())

        eventually(over, within=PATIENCE)
    finally:
        frozen.kill()
        other.kill()
    stage.quiet_tool()
    told = {turn.commit_key: stage.events(turn.commit_key)}
    return judge({turn.commit_key: turn.asked}, told, stage.log(), resolved=True)
