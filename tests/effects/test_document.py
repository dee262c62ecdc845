"""The text of an effect table: YAML that means one JSON object."""

import json

import yaml
from hypothesis import given
from hypothesis import strategies as st

from effects.document import read_document
from effects.errors import EffectTableRefused
from tests.effects.drawn import plain


def read_or_reason(text: str) -> tuple[object, str]:
    try:
        return read_document(text), ""
    except EffectTableRefused as refused:
        return None, refused.reason


@given(st.dictionaries(st.text(max_size=5), plain, max_size=4))
def test_json_is_read_as_it_is_or_refused_for_its_characters(value: dict[str, object]) -> None:
    read, reason = read_or_reason(json.dumps(value))
    assert read == value or (reason == "text holds no NUL" and "\\u0000" in json.dumps(value))


# Without digits: what YAML 1.1 writers leave without quotes (0E0, 1_000) is no text to every reader.
wordy = st.text("ab :-#{}[],&*!|>'\"%@`\n\té", max_size=8)


@given(
    st.dictionaries(
        wordy, wordy | st.booleans() | st.integers(-9, 9) | st.lists(wordy, max_size=3), max_size=4
    )
)
def test_what_a_yaml_writer_writes_is_read_back(value: dict[str, object]) -> None:
    assert read_document(yaml.safe_dump(value)) == value


def test_plain_scalars_mean_what_json_says() -> None:
    text = "[on, yes, True, ~, null, 0E0, 1e2, 012, 0x1, 1_0, 12:30, 2026-01-01, .inf, =, <<, 1.5, -0]"
    expected = ["on", "yes", "True", None, None, 0.0, 100.0, "012", "0x1", "1_0", "12:30", "2026-01-01"]
    assert read_document(f"a: {text}")["a"] == [*expected, ".inf", "=", "<<", 1.5, 0]
