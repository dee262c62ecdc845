"""Playing histories: how many, under which seed, and what they must have come to."""

import os
import secrets
from collections import Counter
from collections.abc import Iterable

from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as under_seed
from hypothesis.stateful import run_state_machine_as_test

from tests.ledger.model.both import Begin
from tests.ledger.model.machine import Histories
from tests.ledger.model.provider import BACKEND

LONG = bool(os.environ.get("COMMITGATE_TEST_LONG"))
SEED_SETTING = "COMMITGATE_TEST_SEED"
FIRST_SEED = 20260101


def drawn(number: int) -> int:
    """The seed of a long test: fresh, or counted from COMMITGATE_TEST_SEED."""
    told = os.environ.get(SEED_SETTING)
    return secrets.randbits(48) if told is None else int(told) + number


def play(
    begin: Begin,
    seen: Counter[str],
    *,
    seed: int,
    histories: int,
    steps: int,
    shrink: bool = True,
    machine: type[Histories] = Histories,
) -> None:
    """Play ``histories`` of up to ``steps`` steps on what ``begin`` gives; raises what the first that goes wrong raises."""
    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
    made = type(machine.__name__, (machine,), {"begin": staticmethod(begin), "seen": seen})
    run_state_machine_as_test(
        under_seed(seed)(made),
        settings=settings(
            max_examples=histories,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            backend=BACKEND,
        ),
    )


def told(where: str, seed: int, seen: Counter[str]) -> str:
    """For the end of the run."""
    moves = sum(1 for name in seen if " -> " in name)
    kinds = sum(1 for name in seen if name.startswith("event "))
    refusals = sum(1 for name in seen if name.startswith(("refused: ", "posted: ")))
    return (
        f"histories against the model {where}: {seen['histories']} of {seen['events']} events under seed {seed}; "
        f"{kinds} kinds of event, {moves} moves of an intent, {refusals} answers to the writer and the runtime"
    )


def missing(seen: Counter[str], named: Iterable[str]) -> list[str]:
    """What should have happened in some history and did not."""
    return sorted(name for name in named if not seen[name])


EVENTS = tuple(
    f"event {kind}"
    for kind in (
        "stream.opened", "stream.taken_over", "stream.finished", "tokens.drafted", "tokens.ruled", "tokens.accepted",
        "drafts.voided", "block.cleared", "block.voided", "intent.held", "intent.released", "intent.refused",
        "intent.voided", "intent.final", "dispatch.started", "dispatch.settled", "dispatch.expired",
    )
)  # fmt: skip
POSTGRES_NAMED = (
    *(name for name in EVENTS if name != "event drafts.voided"),
    "batch given again: replayed",
    "batch given again: batch_id_reused",
)
"""As ``NAMED``, for the few histories that are played on Postgres."""

NAMED = (
    *EVENTS,
    *(f"event {kind}" for kind in (
        "intent.call_id", "intent.stale", "intent.adopted", "intent.awaiting_approval", "intent.approved", "intent.denied",
        "dispatch.in_doubt", "dispatch.resolved", "dispatch.late",
    )),
    # rulings
    "a cut", "a cut with an own token", "all accepted", "a window of 0, nothing drafted",
    "a window of 0, own token equal to the draft", "a window of 0, own token different from the draft",
    "an own token equal to the draft", "an own token different from the draft", "an own token behind all drafts",
    "takeover over drafts",
    # refusals
    *(f"refused: {code}" for code in (
        "wrong_round", "wrong_start", "wrong_end", "stale_writer", "stream_finished", "drafts_pending", "unknown_branch",
        "invalid_request", "exists_with_different_branches", "exists_with_different_branches_mode",
        "exists_with_different_format", "exists_with_different_threshold", "exists_with_different_binding",
    )),
    *(f"posted: {code}" for code in (
        "held", "replay", "diverges_from_tokens", "span_not_drafted", "span_overlap", "span_order", "stream_finished",
        "wrong_round",
    )),
    "resolving: None", "resolving: not_in_doubt",
    *(f"{deciding}: {code}" for deciding in ("approving", "denying") for code in (
        None, "not_awaiting_approval", "approval_of_other_arguments",
    )),
    "asked again: it expired",
    # reads that went early
    "early read used", "early read wasted", "early read stale, cleared", "early read stale, undecided",
    "early read answered after its block was voided",
    # reads that took another's answer
    "nothing -> read settled", "nothing -> read dispatched",
    "adopted in flight: settled together", "adopted in flight: came to nothing",
    # the life of a change
    *(f"change {move}" for move in (
        "held -> change released", "held -> change voided", "held -> change refused",
        "released -> change dispatched", "released -> change in_doubt", "released -> change voided",
        "dispatched -> change settled, final", "dispatched -> change in_doubt", "dispatched -> change held",
        "held -> change awaiting_approval", "awaiting_approval -> change held", "awaiting_approval -> change released",
        "awaiting_approval -> change denied", "awaiting_approval -> change voided",
        "released -> change awaiting_approval",
        "dispatched -> change released", "in_doubt -> change settled, final",
    )),
    *(f"read {move}" for move in (
        "held -> read awaiting_approval", "awaiting_approval -> read released", "awaiting_approval -> read denied",
        "held -> read released", "held -> read voided", "released -> read held", "released -> read dispatched",
        "released -> read voided", "dispatched -> read settled", "dispatched -> read settled, final",
        "dispatched -> read released", "dispatched -> read held", "dispatched -> read voided",
        "settled -> read settled, final", "settled -> read released", "settled -> read voided",
    )),
    # outcomes that come when nobody waits for them any more
    "late, settles a doubt", "late, after a resolution", "late, of an earlier attempt", "late, of an expired attempt",
    "given up as unavailable",
    *(f"histories of {lanes} branches, {source}" for lanes in (1, 2, 3) for source in ("detected", "posted")),
)  # fmt: skip
"""Each has to happen in some history of a run, or the generator has become blind to it."""
