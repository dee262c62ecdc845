from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding.errors import OptionsError
from decoding.text import Speller, Spelling, spell_bytes
from decoding.vocabulary import Vocabulary

BYTES = Vocabulary(
    (*(bytes([i]) for i in range(256)), b"<|im_end|>", b"<tool_call>"), frozenset({256}), "sha256:bytes"
)


def spelled(data, *, stops=()):
    return Speller(BYTES, stops).spell_all(data)


def test_a_character_appears_with_the_byte_that_completes_it():
    speller, state, texts = Speller(BYTES), Spelling(), []
    for byte in "é€😀".encode():
        token = speller.spell(state, byte)
        state = token.after
        texts.append(token.text)
    assert texts == ["", "é", "", "", "€", "", "", "", "😀"]


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
def test_valid_text_survives_byte_by_byte(text):
    assert spelled(text.encode()) == (text, spelled(text.encode())[1], False)


@given(st.binary(max_size=40), st.lists(st.integers(0, 40), max_size=6))
def test_any_bytes_spell_the_same_text_however_they_are_cut(data, cuts):
    marks = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pending, texts = b"", []
    for start, end in pairwise(marks):
        text, pending = spell_bytes(pending, data[start:end])
        texts.append(text)
    assert ("".join(texts), pending) == spell_bytes(b"", data)
    assert "\0" not in "".join(texts)


def test_bytes_that_cannot_be_text_do_not_block_what_follows():
    assert spelled([0xFF, 0x41, 0xC3, 0x41, 0x00])[0] == "\ufffdA\ufffdA\ufffd"


def test_an_id_that_ends_spells_nothing_and_other_specials_spell_themselves():
    assert spelled([0x41, 257, 0x42]) == ("A<tool_call>B", Spelling(), False)
    assert spelled([0x41, 256]) == ("A", Spelling(), True)


@given(st.text("ab", max_size=8), st.lists(st.text("ab", min_size=1, max_size=3), max_size=3))
def test_a_stop_string_ends_with_the_token_that_completes_it(text, stops):
    speller, state = Speller(BYTES, tuple(stops)), Spelling()
    for end, byte in enumerate(text.encode(), start=1):
        token = speller.spell(state, byte)
        state = token.after
        assert token.ends == any(text[:end].endswith(stop) for stop in stops)


def test_a_stop_string_inside_one_token_keeps_the_token_whole():
    words = Vocabulary((b"say stop now", b"!"), frozenset(), "sha256:words")
    token = Speller(words, ("stop",)).spell(Spelling(), 0)
    assert (token.text, token.ends) == ("say stop now", True)
    assert not Speller(words, ("stop",)).spell(token.after, 1).ends


def test_an_empty_stop_string_is_refused():
    with pytest.raises(OptionsError):
        Speller(BYTES, ("",))
