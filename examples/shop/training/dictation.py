"""Dictation: the user lists ids, amounts, codes and addresses, the agent says the list back.

Copying digit by digit is what a small model learns last from conversations, where a few digits stand among much
else. A hundred batches of nothing but copying teach it early; the calls are built on that.
"""

import random
from collections.abc import Iterator

from examples.shop.training.transcripts import Message
from examples.shop.world import make_address, make_code

SHORTEST, LONGEST = 3, 7


def dictations(seed: int) -> Iterator[tuple[Message, ...]]:
    """Lists without end."""
    r = random.Random(f"shop dictations {seed}")
    while True:
        text = ", ".join(_item(r) for _ in range(r.randint(SHORTEST, LONGEST)))
        yield {"role": "user", "content": text}, {"role": "assistant", "content": text}


def _item(r: random.Random) -> str:
    return r.choice(
        (
            f"W{r.randint(100, 999)}",
            f"C{r.randint(10, 99)}",
            f"P{r.randint(10, 99)}",
            str(r.randint(2, 299)),
            make_code(r),
            make_address(r),
        )
    )
