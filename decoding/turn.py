"""One turn while it is decoded, and what is left of it when it is over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from decoding.errors import ModelRefused, SinkError
from decoding.progress import FinishReason
from decoding.sink import Opened
from decoding.text import Speller, Spelling
from decoding.wire import Token


@dataclass(slots=True)
class DraftCounts:
    """What became of a drafter's tokens; ``drafted == accepted + rejected + unreached``.

    ``rejected``: the one token at a cut that differed. ``unreached``: those behind a cut, voided without a
    judgement.
    """

    drafted: int = 0
    accepted: int = 0
    rejected: int = 0
    unreached: int = 0

    def add(self, drafted: int, accepted: int) -> None:
        """Count one ruling."""
        cut = 1 if accepted < drafted else 0
        self.drafted += drafted
        self.accepted += accepted
        self.rejected += cut
        self.unreached += drafted - accepted - cut


@dataclass(frozen=True, slots=True)
class TurnResult:
    """A finished turn.

    ``ids``, ``text``: the whole message, tokens accepted before a resumption included; ``resumed_at`` of them
    were. ``drafters``: counts by drafter name, of this run alone. ``target_passes``: forward passes of the
    target; ``rulings``: those of them that judged drafts. ``min_margin``: the smallest margin (nats) of any
    token judged. ``draft_seconds``, ``verify_seconds``: time spent in drafter and target.
    """

    text: str
    ids: tuple[int, ...]
    finish_reason: FinishReason
    resumed_at: int
    round: int
    drafters: Mapping[str, DraftCounts]
    target_passes: int
    rulings: int
    min_margin: float
    draft_seconds: float
    verify_seconds: float


@dataclass(slots=True)
class Turn:
    """Where the branch stands: ``ids`` accepted (so head is their number), the ``round``, the text's
    state."""

    ids: list[int]
    texts: list[str]
    round: int
    spelling: Spelling
    ended: bool
    resumed_at: int
    drafters: dict[str, DraftCounts] = field(default_factory=dict)
    target_passes: int = 0
    rulings: int = 0
    min_margin: float = float("inf")
    draft_seconds: float = 0.0
    verify_seconds: float = 0.0

    @property
    def head(self) -> int:
        """Number of accepted tokens."""
        return len(self.ids)

    def commit(self, tokens: Sequence[Token], spelling: Spelling, *, ended: bool) -> None:
        """Append accepted tokens; ``spelling`` is the text's state after them."""
        self.ids.extend(token.id for token in tokens)
        self.texts.extend(token.text for token in tokens)
        self.spelling = spelling
        self.ended = ended

    def result(self, reason: FinishReason) -> TurnResult:
        """What is left of it."""
        return TurnResult(
            text="".join(self.texts),
            ids=tuple(self.ids),
            finish_reason=reason,
            resumed_at=self.resumed_at,
            round=self.round,
            drafters=self.drafters,
            target_passes=self.target_passes,
            rulings=self.rulings,
            min_margin=self.min_margin,
            draft_seconds=self.draft_seconds,
            verify_seconds=self.verify_seconds,
        )


def resume(opened: Opened, speller: Speller) -> Turn:
    """The turn as its stream has it: what was accepted is taken as it is and never drawn again.

    Raises ``SinkError`` (``resume_without_ids``) where accepted tokens carry no ids, ``ModelRefused``
    (``resume_mismatch``) where the ids do not spell the accepted text in this vocabulary.
    """
    if len(opened.ids) != opened.head:
        raise SinkError(
            f"the stream has accepted {opened.head} tokens but knows ids of {len(opened.ids)}",
            code="resume_without_ids",
        )
    text, spelling, ended = speller.spell_all(opened.ids)
    if text != opened.text:
        raise ModelRefused("the accepted ids spell another text with this tokenizer", code="resume_mismatch")
    return Turn(
        ids=list(opened.ids),
        texts=[text],
        round=opened.round,
        spelling=spelling,
        ended=ended,
        resumed_at=opened.head,
    )
