"""One window: drafts are proposed and cut where the message would end, then the target rules on them."""

from collections.abc import Sequence
from dataclasses import dataclass

from decoding.drafters.base import Drafter, Kind
from decoding.errors import ModelRefused
from decoding.rules.match import Draw, MatchRule, judge
from decoding.target import TargetModel
from decoding.text import Speller, Spelling
from decoding.wire import Token


@dataclass(frozen=True, slots=True)
class Window:
    """Drafts for consecutive positions. ``after[i]``: the text's state behind draft ``i``.

    ``ends``: the last draft, if accepted, ends the message; no draft before it does.
    """

    tokens: tuple[Token, ...]
    after: tuple[Spelling, ...]
    kind: Kind
    ends: bool

    @property
    def ids(self) -> tuple[int, ...]:
        """The drafted ids."""
        return tuple(token.id for token in self.tokens)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``accepted`` leading drafts; ``drawn``: the target's own id behind them, None where the message ended
    before.

    ``margin``: the smallest margin of the positions judged, the one of ``drawn`` included.
    """

    accepted: int
    drawn: int | None
    margin: float


def propose(
    drafter: Drafter,
    context: Sequence[int],
    position: int,
    count: int,
    rule: MatchRule,
    speller: Speller,
    at: Spelling,
) -> Window:
    """Ask for at most ``count`` drafts behind ``context`` and keep those up to the first that ends the
    message.

    ``at``: the text's state behind ``context``. Raises ``ModelRefused`` (``draft_outside_vocabulary``).
    """
    proposal = drafter.propose(context, position, count, rule)
    tokens: list[Token] = []
    after: list[Spelling] = []
    ends = False
    for draft in proposal.ids[:count]:
        if not 0 <= draft < rule.vocabulary:
            raise ModelRefused(
                f"{drafter.name} drafted id {draft}, the vocabulary ends at {rule.vocabulary}",
                code="draft_outside_vocabulary",
            )
        spelled = speller.spell(after[-1] if after else at, draft)
        tokens.append(Token(draft, spelled.text, drafter.name))
        after.append(spelled.after)
        if spelled.ends:
            ends = True
            break
    return Window(tuple(tokens), tuple(after), proposal.kind, ends)


def verify(
    target: TargetModel,
    context: Sequence[int],
    position: int,
    drafts: tuple[int, ...],
    rule: MatchRule,
    *,
    ends: bool,
) -> Verdict:
    """Rule on ``drafts`` in one pass of the target: its own draws are compared with them, position by
    position.

    ``position``: the branch position of the first draft. Unless the last draft ``ends`` the message, the same
    pass gives the draw behind it. No drafts: one draw, plain decoding.
    """
    rows = len(drafts) + (0 if ends else 1)
    scores = target.scores([*context, *drafts[: rows - 1]], rows)
    draws: list[Draw] = []
    for offset in range(rows):
        draws.append(rule.draw(scores[offset], position + offset))
        if draws[-1].id != (drafts[offset] if offset < len(drafts) else None):
            break
    accepted = judge(drafts, draws)
    drawn = draws[accepted].id if accepted < len(draws) else None
    return Verdict(accepted, drawn, min(draw.margin for draw in draws))
