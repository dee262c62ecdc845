"""How hypothesis draws here: from the seed alone.

Its own way mixes in constants that it finds in whatever modules happen to be loaded, so one seed would mean other histories
after each change anywhere, and in each order of the tests.
"""

from typing import Any

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

BACKEND = "seed-alone"


class SeedAlone(HypothesisProvider):
    def _maybe_draw_constant(self, *_about: Any, **_named: Any) -> None:
        return None


AVAILABLE_PROVIDERS[BACKEND] = f"{SeedAlone.__module__}.{SeedAlone.__qualname__}"
