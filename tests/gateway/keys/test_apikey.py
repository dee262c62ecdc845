import hashlib
import secrets

import pytest

from gateway.apikey import ApiKey


def test_a_key_is_read_as_it_was_written() -> None:
    key = ApiKey.fresh(secrets.token_bytes)
    read = ApiKey.parse(key.text)
    assert read == key
    assert key.text.startswith(f"cg_{key.id}_")
    assert len(bytes.fromhex(key.secret)) == 32


def test_two_keys_are_never_the_same() -> None:
    assert len({ApiKey.fresh(secrets.token_bytes).secret for _ in range(100)}) == 100


def test_every_slip_of_one_character_is_noticed() -> None:
    text = ApiKey.fresh(secrets.token_bytes).text
    for at in range(len(text)):
        for other in "0f_x":
            if text[at] != other:
                assert ApiKey.parse(text[:at] + other + text[at + 1 :]) is None


@pytest.mark.parametrize(
    "text", ["", "cg_", "cg__", "Bearer x", "cg_" + "0" * 16 + "_" + "0" * 72, "\u0661" * 92]
)
def test_nothing_else_is_a_key(text: str) -> None:
    assert ApiKey.parse(text) is None
    assert ApiKey.parse(ApiKey.fresh(secrets.token_bytes).text + "\n") is None


def test_the_digest_is_of_the_secret_and_the_secret_is_not_shown() -> None:
    key = ApiKey.fresh(secrets.token_bytes)
    assert key.digest == hashlib.sha256(key.secret.encode()).digest()
    assert key.matches(key.digest)
    assert not key.matches(ApiKey.fresh(secrets.token_bytes).digest)
    assert key.secret not in repr(key)
