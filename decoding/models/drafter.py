"""A smaller model as drafter, coupled to the target by the same noise."""

from collections.abc import Sequence

from decoding.drafters.base import Proposal
from decoding.rules.match import MatchRule
from decoding.target import TargetModel


class ModelDrafter:
    """Drafts what ``model`` would draw by the target's own rule: same seed, same positions, same noise.

    Sharing the noise is right under ``match`` and only there: what is emitted is the target's draw anyway,
    and where both laws agree so do the draws. ``name``: as it stands in events; the model's if not given.
    """

    def __init__(self, model: TargetModel, name: str | None = None) -> None:
        """See the class."""
        self.name = name or model.name
        self.tokenizer_digest: str | None = model.vocabulary.digest
        self._model = model

    def propose(self, context: Sequence[int], position: int, count: int, rule: MatchRule) -> Proposal:
        """See ``Drafter.propose``. Stops early where the message would end or the model's context is full."""
        ids = list(context)
        limit = self._model.context_limit
        room = count if limit is None else min(count, limit - len(ids))
        for offset in range(room):
            drawn = rule.draw(self._model.scores(ids, 1)[0], position + offset).id
            ids.append(drawn)
            if drawn in self._model.vocabulary.ends:
                break
        return Proposal(tuple(ids[len(context) :]), "coupled")
