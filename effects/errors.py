"""The errors of ``effects``. Each class has a ``code`` that never changes; the message is for a person.

::

    RuntimeError
    └── EffectsError                         effects_error
        ├── SpeculativeEffectViolation       speculative_effect_violation
        ├── SpeculativeRoutingError          speculative_routing_error
        ├── SpeculativePrefixCollapseError   speculative_prefix_collapse
        ├── EffectTableRefused               effect_table_refused
        │   └── LiteralSecretRefused         literal_secret
        └── FootprintRefused                 footprint_refused
    ValueError
    └── JSONRefused                          its own codes, in effects.strict_json

The first three are the errors of the spec's sketches: tool-call-side-effects.md,
failover-acceptance-spike.md and heterogeneous-drafters.md.
"""

from typing import ClassVar


class EffectsError(RuntimeError):
    """What the pure rules raise."""

    code: ClassVar[str] = "effects_error"


class SpeculativeEffectViolation(EffectsError):
    """A side effect is committed, or was, against draft tokens that are not accepted."""

    code = "speculative_effect_violation"


class SpeculativeRoutingError(EffectsError):
    """A routing decision would act on an acceptance signal that cannot be attributed to a
    verified-consistent pair.
    """

    code = "speculative_routing_error"


class SpeculativePrefixCollapseError(EffectsError):
    """Joint acceptance on a shared prefix is below the boundary at which truncate-and-repropose pays."""

    code = "speculative_prefix_collapse"


class EffectTableRefused(EffectsError):
    """An effect table is not taken. Nothing of it is in force.

    ``path`` names the place in the document (``tools.cancel_order.rules[0].when``; empty for the document as
    a whole), ``reason`` what is wrong there. ``more`` counts the other faults found.
    """

    code = "effect_table_refused"

    def __init__(self, path: str, reason: str, more: int = 0) -> None:
        """Keep all three; the message shows them."""
        others = "" if not more else f" (and {more} more)"
        super().__init__(f"{path or 'effect table'}: {reason}{others}")
        self.path = path
        self.reason = reason
        self.more = more

    def __reduce__(self) -> tuple[type["EffectTableRefused"], tuple[str, str, int]]:
        """Pickle by what it was made from (BaseException would pass the message alone)."""
        return type(self), (self.path, self.reason, self.more)


class LiteralSecretRefused(EffectTableRefused):
    """A secret stands in the table itself, where the ledger would keep it for ever. The message does not repeat it."""

    code = "literal_secret"


class FootprintRefused(EffectsError):
    """A recorded footprint does not have the form that ``Footprint.to_json`` writes."""

    code = "footprint_refused"
