"""A short account of what one run of a story was seen to do."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.scenarios.books import Books, Request, response_about
from tests.scenarios.story import GONE, MALFORMED, Story


@dataclass(frozen=True)
class Account:
    """``malformed``: the misspelt coupon exists. ``hidden``: calls with effects that the run's reconciliation did not see.

    ``stale``: the response cites what the shop's database does not say.
    """

    who: str
    story: str
    requests: int
    effects: int
    malformed: bool
    hidden: tuple[str, ...]
    response: str
    stale: bool
    counts: str = ""

    def __str__(self) -> str:
        """One line for people."""
        said = (
            f"{self.who:<24} {self.story}: {self.requests} requests, {self.effects} effects, "
            f"malformed {'persists' if self.malformed else 'none'}, "
            f"{len(self.hidden)} invisible to reconciliation, "
            f"response {'STALE' if self.stale else 'true'}: {self.response!r}"
        )
        return f"{said}; {self.counts}" if self.counts else said


def account(
    who: str, story: Story, books: Books, *, seen: Sequence[Request], response: str, counts: str = ""
) -> Account:
    """Hold a run against the shop's books. ``seen``: the requests that the run's own reconciliation accounts for."""
    told = Account(
        who=who,
        story=story.name,
        requests=len(books.requests()),
        effects=len(books.effects()),
        malformed=MALFORMED in books.coupons(),
        hidden=tuple(str(request) for request in books.effects() if request not in seen),
        response=response,
        stale=response != response_about(books.coupons().get(GONE)),
        counts=counts,
    )
    print(told)
    return told
