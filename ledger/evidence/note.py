"""Signed notes (C2SP signed-note) with Ed25519, and the texts of the keys that sign and verify them.

Ed25519 signs without randomness: one key and one body always make the same note.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ledger.errors import KeyRefused, NoteRefused

MAX_SIGNATURES = 100
"""A note with more is refused before any of them is looked at."""

_ED25519 = b"\x01"
_KEY_BYTES = 32
_ID_BYTES = 4
_SIGNATURE_BYTES = 64
_PRIVATE = ("PRIVATE", "KEY")
_DASH = "— "


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """The public half: whoever holds it can check what the log signed. ``key_id`` is 4 bytes, a name, no safety."""

    name: str
    public: Ed25519PublicKey = field(repr=False)

    @property
    def key_id(self) -> bytes:
        """SHA-256(name || newline || 0x01 || public key), its first four bytes."""
        return _key_id(self.name, self.public)

    @classmethod
    def parse(cls, text: str) -> "VerifierKey":
        """Read ``<name>+<key id in hex>+<base64 of 0x01 and the key>``. Raises KeyRefused."""
        parts = text.strip().split("+", 2)
        if len(parts) != 3 or not _is_name(parts[0]):
            raise KeyRefused("a verifier key reads <name>+<key id>+<base64>")
        key = cls(parts[0], Ed25519PublicKey.from_public_bytes(_key_bytes(parts[2])))
        if key.key_id.hex() != parts[1]:
            raise KeyRefused(f"the key id of {key.name} does not fit its key")
        return key

    def text(self) -> str:
        """What ``parse`` reads; one line, no newline."""
        raw = self.public.public_bytes_raw()
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(_ED25519 + raw).decode()}"

    def open(self, note: str) -> str:
        """The body of ``note``, signed by this key. Signatures of other keys are not looked at.

        Raises NoteRefused where the note is malformed, this key did not sign it, or a signature in its name is bad.
        """
        body, lines = _split(note)
        signed = False
        for name, key_id, signature in map(_signature, lines):
            if name != self.name or key_id != self.key_id:
                continue
            try:
                self.public.verify(signature, body.encode())
            except InvalidSignature:
                raise NoteRefused(f"the signature of {name} does not fit the text") from None
            signed = True
        if not signed:
            raise NoteRefused(f"{self.name} with key id {self.key_id.hex()} did not sign this note")
        return body


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The secret half. Its text is the key: keep it as a secret."""

    name: str
    _private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def generate(cls, name: str) -> "SigningKey":
        """A new key from the system's randomness. Raises KeyRefused where ``name`` is empty or holds space or plus."""
        return cls(_checked(name), Ed25519PrivateKey.generate())

    @classmethod
    def parse(cls, text: str) -> "SigningKey":
        """Read ``PRIVATE+KEY+<name>+<key id in hex>+<base64 of 0x01 and the seed>``. Raises KeyRefused."""
        parts = text.strip().split("+", 4)
        if len(parts) != 5 or tuple(parts[:2]) != _PRIVATE:
            raise KeyRefused("a signing key reads PRIVATE+KEY+<name>+<key id>+<base64>")
        key = cls(_checked(parts[2]), Ed25519PrivateKey.from_private_bytes(_key_bytes(parts[4])))
        if key.verifier().key_id.hex() != parts[3]:
            raise KeyRefused(f"the key id of {key.name} does not fit its key")
        return key

    def text(self) -> str:
        """What ``parse`` reads; one line, no newline. Secret."""
        seed = base64.b64encode(_ED25519 + self._private.private_bytes_raw()).decode()
        return "+".join((*_PRIVATE, self.name, self.verifier().key_id.hex(), seed))

    def verifier(self) -> VerifierKey:
        """The public half."""
        return VerifierKey(self.name, self._private.public_key())

    def sign(self, body: str) -> str:
        """The note of ``body``, which ends with a newline. Raises NoteRefused where it cannot be a note's text."""
        _check_text(body)
        if not body.endswith("\n"):
            raise NoteRefused("the text of a note ends with a newline")
        signature = self.verifier().key_id + self._private.sign(body.encode())
        return f"{body}\n{_DASH}{self.name} {base64.b64encode(signature).decode()}\n"


def body_of(note: str) -> str:
    """The text of a note, signatures unchecked: nothing to rely on. Raises NoteRefused where it is malformed."""
    return _split(note)[0]


def _key_id(name: str, public: Ed25519PublicKey) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + _ED25519 + public.public_bytes_raw()).digest()[:_ID_BYTES]


def _key_bytes(text: str) -> bytes:
    try:
        raw = _unbase64(text)
    except ValueError:
        raw = b""
    if len(raw) != 1 + _KEY_BYTES or raw[:1] != _ED25519:
        raise KeyRefused("a key of the log is an Ed25519 key: byte 0x01 and 32 bytes, in base64")
    return raw[1:]


def _checked(name: str) -> str:
    if not _is_name(name):
        raise KeyRefused("the name of a key is not empty and holds neither space nor plus")
    return name


def _is_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(c.isspace() or c < " " for c in name) and _is_utf8(name)


def _is_utf8(text: str) -> bool:
    # A lone surrogate is the one thing that a str can hold and UTF-8 cannot.
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _check_text(text: str) -> None:
    if any(character < " " and character != "\n" for character in text):
        raise NoteRefused("a note holds no control character but newlines")
    if not _is_utf8(text):
        raise NoteRefused("a note is UTF-8 text")


def _split(note: str) -> tuple[str, list[str]]:
    _check_text(note)
    text, blank, signatures = note.rpartition("\n\n")
    if not blank or not signatures.endswith("\n"):
        raise NoteRefused("a note is a text, an empty line and lines of signatures")
    lines = signatures[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise NoteRefused(f"a note has at most {MAX_SIGNATURES} signatures")
    return text + "\n", lines


def _signature(line: str) -> tuple[str, bytes, bytes]:
    name, space, text = line.removeprefix(_DASH).partition(" ")
    try:
        raw = _unbase64(text)
    except ValueError:
        raw = b""
    if not line.startswith(_DASH) or not space or not _is_name(name) or len(raw) <= _ID_BYTES:
        raise NoteRefused("a signature line reads — <key name> <base64>")
    return name, raw[:_ID_BYTES], raw[_ID_BYTES:]


def _unbase64(text: str) -> bytes:
    """Raises ValueError also for spellings that no encoder makes: one signature has one text."""
    raw = base64.b64decode(text, validate=True)
    if base64.b64encode(raw).decode() != text:
        raise binascii.Error("spare bits are set")
    return raw
