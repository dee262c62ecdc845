import pickle
from typing import Any

import pytest

from effects import errors
from effects.errors import EffectsError, EffectTableRefused

CODES = {
    "EffectsError": "effects_error",
    "SpeculativeEffectViolation": "speculative_effect_violation",
    "SpeculativeRoutingError": "speculative_routing_error",
    "SpeculativePrefixCollapseError": "speculative_prefix_collapse",
    "EffectTableRefused": "effect_table_refused",
    "LiteralSecretRefused": "literal_secret",
    "FootprintRefused": "footprint_refused",
}


def _classes() -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }


def test_the_codes_are_stable_and_one_to_a_class() -> None:
    assert {name: found.code for name, found in _classes().items()} == CODES
    assert len(set(CODES.values())) == len(CODES)


def test_every_class_is_in_the_drawing_and_in_the_tree() -> None:
    for name, found in _classes().items():
        assert issubclass(found, EffectsError)
        assert issubclass(found, RuntimeError)
        assert name in (errors.__doc__ or "")
        assert found.code in (errors.__doc__ or "")


@pytest.mark.parametrize(
    "name", ["SpeculativeEffectViolation", "SpeculativeRoutingError", "SpeculativePrefixCollapseError"]
)
def test_the_errors_of_the_spec_take_a_message_alone(name: str) -> None:
    assert str(_classes()[name]("what happened")) == "what happened"


def test_a_refused_table_says_where_and_what() -> None:
    refused = EffectTableRefused("tools.a.effect", "no class", more=2)
    assert str(refused) == "tools.a.effect: no class (and 2 more)"
    assert str(EffectTableRefused("", "no YAML")) == "effect table: no YAML"
    copy = pickle.loads(pickle.dumps(refused))
    assert (copy.path, copy.reason, copy.more) == ("tools.a.effect", "no class", 2)
