"""Secrets are found however JSON or a URL spells them, and no answer makes the search slow."""

import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.secrets import HIDDEN, LONGEST_SPELLED, Resolved
from gateway.upstream.spellings import any_spelling

SECRET = "Ab3/xY+z&9=='q\\\"\nü\\"
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "JSON": json.dumps,
    "JSON as UTF-8": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON within JSON": lambda text: json.dumps(json.dumps(text)),
    "JSON of PHP": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON of .NET": lambda text: json.dumps(text).replace("+", "\\u002B").replace("&", "\\u0026"),
    "repr": repr,
    "repr of bytes": lambda text: repr(text.encode())[1:],
    "all by number": lambda text: "".join(f"\\u{ord(char):04X}" for char in text),
    "a path": quote,
    "a query": lambda text: quote(text, safe="").lower(),
}


def hidden(secret: str, body: str) -> str:
    return Resolved({}, (secret,)).hide(body.encode()).decode()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_was_found_in_the_commonest_spellings_alone(spelling: str) -> None:
    secret = SECRET.lower() if spelling == "a query" else SECRET
    told = hidden(secret, f"<{SPELLINGS[spelling](secret)}>")
    assert told.strip("<>\"'\\") == HIDDEN


@given(
    st.text(min_size=6, max_size=40).filter(lambda text: text.isprintable()),
    st.sampled_from(list(SPELLINGS)[:4]),
)
def test_any_text_is_found(text: str, spelling: str) -> None:
    told = hidden(text, f"<{SPELLINGS[spelling](text)}>")
    assert HIDDEN in told
    assert text not in told.replace(HIDDEN, "")


@given(st.text('abc\\"/', min_size=6, max_size=12), st.text('abc\\"/%u', max_size=60))
def test_nothing_else_is_found(secret: str, text: str) -> None:
    bare = text.replace("\\", "")
    if secret.replace("\\", "") not in bare and "%" not in text and "u" not in text:
        assert hidden(secret, text) == text


def test_the_pattern_has_bounds_for_answers_of_backslashes() -> None:
    pattern = any_spelling("\\" * 20 + "/" * 20)
    assert b"+" not in pattern.pattern
    assert b"*" not in pattern.pattern


def test_a_very_long_secret_is_found_plain_and_as_json() -> None:
    secret = '/"x' * LONGEST_SPELLED
    assert hidden(secret, f"\\{secret}") == f"\\{HIDDEN}"
    assert hidden(secret, json.dumps([secret])) == json.dumps([HIDDEN])
