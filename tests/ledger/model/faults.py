"""Batches that must be refused, each for one reason."""

from tests.ledger.model import speech
from tests.ledger.model.lanes import Lane
from tests.ledger.model.speech import Dice
from tests.ledger.model.stream import Said

STALE = "stale_writer"
FAULTS = (
    "wrong_round", "wrong_start", "wrong_start of a ruling", "wrong_end", STALE, "unknown_branch",
    "too many accepted", "nothing ruled", "behind a good event", "drafts_pending",
)  # fmt: skip


def draw(dice: Dice, name: str, lane: Lane) -> tuple[list[Said], int]:
    """Events, the last of which is refused, and how many epochs their writer is behind."""
    fault = dice.pick(FAULTS)
    good, ruled = speech.drafted(dice, name, lane), speech.ruling(name, lane, 0, 0, {"text": "?"})
    events = {
        "wrong_round": [ruled | {"round": lane.round + 1}],
        "wrong_start": [good | {"start": lane.drafted_end + 1}],
        "wrong_start of a ruling": [ruled | {"start": lane.head + 1, "end": lane.head + 1}],
        "wrong_end": [ruled | {"end": lane.drafted_end + 1}],
        "unknown_branch": [ruled | {"branch": "nowhere"}],
        "too many accepted": [ruled | {"accepted": 1}],
        "nothing ruled": [speech.ruling(name, lane, 0, 0)],
        "behind a good event": [good, ruled | {"round": lane.round + 1}],
        "drafts_pending": [good, speech.accepted(dice, name, lane)],
    }.get(fault, [ruled])
    return events, int(fault == STALE)
