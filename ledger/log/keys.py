"""The log's signing key as files: the key for its owner alone, the verifier key beside it for everybody."""

import os
from pathlib import Path

from ledger.errors import KeyRefused
from ledger.evidence.note import SigningKey


def load_or_make_key(path: Path, name: str) -> SigningKey:
    """The key in ``path``; where there is none, a new one called ``name`` (the log's origin), readable by its owner.

    The verifier key is written beside it, with the suffix ``.pub``. Raises KeyRefused where the file holds no key or
    cannot be read or made.
    """
    try:
        text = _read(path)
        if text is None:
            text = _make(path, name)
        key = SigningKey.parse(text)
        public = path.with_suffix(".pub")
        if not public.exists():
            public.write_text(key.verifier().text() + "\n", encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KeyRefused(f"the log's signing key {path} cannot be used: {error}") from error
    return key


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _make(path: Path, name: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = SigningKey.generate(name).text()
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        # A link never replaces: of two processes that make the first key, one wins and both use that.
        os.link(beside, path)
    except FileExistsError:
        return path.read_text(encoding="utf-8")
    finally:
        beside.unlink()
    return text
