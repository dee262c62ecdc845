"""Signed notes: the published ones open and are made again byte for byte; what is malformed or forged is refused."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.errors import KeyRefused, NoteRefused
from ledger.evidence.note import MAX_SIGNATURES, SigningKey, VerifierKey, body_of
from tests.ledger.evidence import vectors

GO_NOTE = f"{vectors.GO_BODY}\n{vectors.GO_SIGNATURE}"
KEY = VerifierKey.parse(vectors.GO_VERIFIER_KEY)


def test_the_published_key_signs_the_published_note():
    key = SigningKey.parse(vectors.GO_SIGNING_KEY)
    assert key.sign(vectors.GO_BODY) == GO_NOTE
    assert key.text() == vectors.GO_SIGNING_KEY
    assert key.verifier().text() == vectors.GO_VERIFIER_KEY


@pytest.mark.parametrize(
    ("key", "note", "body"),
    [
        (vectors.GO_VERIFIER_KEY, GO_NOTE, vectors.GO_BODY),
        (vectors.GO_VERIFIER_KEY, GO_NOTE + vectors.GO_OTHER_SIGNATURE, vectors.GO_BODY),
        (vectors.GO_OTHER_VERIFIER_KEY, GO_NOTE + vectors.GO_OTHER_SIGNATURE, vectors.GO_BODY),
        (vectors.C2SP_VERIFIER_KEY, vectors.C2SP_NOTE, vectors.C2SP_BODY),
        (
            vectors.SUMDB_VERIFIER_KEY,
            vectors.SUMDB_CHECKPOINT,
            vectors.SUMDB_CHECKPOINT.partition("\n\n")[0] + "\n",
        ),
    ],
)
def test_published_notes_open(key, note, body):
    verifier = VerifierKey.parse(key)
    assert verifier.open(note) == body == body_of(note)
    assert verifier.text() == key


LINE = vectors.GO_SIGNATURE.removesuffix("\n")


@pytest.mark.parametrize(
    "note",
    [
        "",
        vectors.GO_BODY,
        f"{vectors.GO_BODY}\n",
        f"{vectors.GO_BODY}{vectors.GO_SIGNATURE}",
        f"{vectors.GO_BODY}\n{LINE}",
        f"{vectors.GO_BODY}\n{vectors.GO_SIGNATURE}\n",
        f"{vectors.GO_BODY.removesuffix(chr(10))}\n{vectors.GO_SIGNATURE}",
        GO_NOTE.replace("answer", "question"),
        GO_NOTE.replace("— ", "- "),
        GO_NOTE.replace("— ", "—"),
        GO_NOTE.replace("PeterNeumann x", "PeterNeumann  x"),
        GO_NOTE.replace("— PeterNeumann", "— Peter+Neumann"),
        GO_NOTE.replace("AM=", "AN="),
        GO_NOTE.replace("AM=", "AM"),
        GO_NOTE.replace("AM=\n", "AM= \n"),
        GO_NOTE.replace("your problem,", "your\tproblem,"),
        GO_NOTE.replace("your problem,", "your\rproblem,"),
        GO_NOTE.replace("your problem,", "your\ud800problem,"),
        f"{vectors.GO_BODY}\n{vectors.GO_OTHER_SIGNATURE}",
        f"{GO_NOTE}— x y\n",
        f"{GO_NOTE}— x AAAAAA==\n",
        f"{vectors.GO_BODY}\n{vectors.GO_SIGNATURE * (MAX_SIGNATURES + 1)}",
    ],
)
def test_other_notes_do_not_open(note):
    with pytest.raises(NoteRefused) as refused:
        KEY.open(note)
    assert refused.value.code == "note_refused"


def test_as_many_signatures_as_clients_must_take_are_taken():
    assert KEY.open(f"{vectors.GO_BODY}\n{vectors.GO_OTHER_SIGNATURE * 15}{vectors.GO_SIGNATURE}")


def test_a_bad_signature_in_the_key_s_name_spoils_a_note_with_a_good_one():
    raw = bytearray(base64.b64decode(LINE.rpartition(" ")[2]))
    raw[-1] ^= 1
    bad = f"— PeterNeumann {base64.b64encode(raw).decode()}\n"
    for note in (GO_NOTE + bad, f"{vectors.GO_BODY}\n{bad}{vectors.GO_SIGNATURE}"):
        with pytest.raises(NoteRefused, match="does not fit the text"):
            KEY.open(note)


def test_the_same_name_with_another_key_is_another_signer():
    other = SigningKey.generate("PeterNeumann")
    with pytest.raises(NoteRefused, match="did not sign"):
        other.verifier().open(GO_NOTE)
    with pytest.raises(NoteRefused, match="did not sign"):
        KEY.open(other.sign(vectors.GO_BODY))


@pytest.mark.parametrize("body", ["no newline", "a\tb\n", "\ud800\n", "\x00\n"])
def test_what_cannot_be_a_note_is_not_signed(body):
    with pytest.raises(NoteRefused):
        SigningKey.generate("log").sign(body)


@given(
    st.text(st.characters(exclude_characters="\n", min_codepoint=32, exclude_categories=["Cs"])), st.data()
)
@settings(max_examples=50, deadline=None)
def test_what_is_signed_opens_and_a_changed_character_does_not(text, data):
    key = SigningKey.generate("commitgate/log")
    note = key.sign(text + "\n")
    assert key.verifier().open(note) == text + "\n"
    at = data.draw(st.integers(0, len(note) - 1))
    changed = note[:at] + chr(ord(note[at]) ^ 1) + note[at + 1 :]
    with pytest.raises(NoteRefused):
        key.verifier().open(changed)


def test_keys_are_read_back_and_hide_their_secret():
    key = SigningKey.generate("commitgate/log")
    again = SigningKey.parse(f"{key.text()}\n")
    assert again.text() == key.text()
    assert again.sign("same\n") == key.sign("same\n")
    assert VerifierKey.parse(key.verifier().text()).open(key.sign("same\n")) == "same\n"
    assert key.text().split("+", 4)[4] not in repr(key)
    assert SigningKey.generate("commitgate/log").text() != key.text()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PeterNeumann",
        "PeterNeumann+c74f20a3",
        vectors.GO_VERIFIER_KEY.replace("c74f20a3", "c74f20a4"),
        vectors.GO_VERIFIER_KEY.replace("c74f20a3", "C74F20A3"),
        vectors.GO_VERIFIER_KEY.replace("PeterNeumann", "Peter Neumann"),
        vectors.GO_VERIFIER_KEY.replace("PeterNeumann", ""),
        vectors.GO_VERIFIER_KEY.replace("+ARpc", "+AhRpc"),
        vectors.GO_VERIFIER_KEY.removesuffix("TW"),
        vectors.GO_VERIFIER_KEY + "!",
    ],
)
def test_other_verifier_keys_are_refused(text):
    with pytest.raises(KeyRefused):
        VerifierKey.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        vectors.GO_VERIFIER_KEY,
        vectors.GO_SIGNING_KEY.replace("PRIVATE", "PUBLIC"),
        vectors.GO_SIGNING_KEY.replace("c74f20a3", "c74f20a4"),
        vectors.GO_SIGNING_KEY.removesuffix("Fz"),
        vectors.GO_SIGNING_KEY.replace("PeterNeumann", ""),
    ],
)
def test_other_signing_keys_are_refused(text):
    with pytest.raises(KeyRefused) as refused:
        SigningKey.parse(text)
    assert "AYEKFALVFGyNhPJEMzD1QIDr" not in str(refused.value), "a secret is not repeated"


@pytest.mark.parametrize("name", ["", "two words", "a+b", "tab\t", "nbsp\u00a0", "\ud800"])
def test_names_that_no_key_may_have(name):
    with pytest.raises(KeyRefused):
        SigningKey.generate(name)
