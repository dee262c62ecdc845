"""What a table refers to: secrets of this process, read when a call is sent and kept nowhere."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from effects.secrets import Reference, Value
from gateway.upstream.spellings import any_spelling

SECRET_MISSING = "secret_missing"  # noqa: S105 - a code
"""Code of a call that was not sent because what a header refers to is not there, or may not be used."""

MAX_BYTES = 16 * 1024
SHORTEST_HIDDEN = 6
"""Characters that a secret must have to be taken out of an answer that repeats it."""

LONGEST_SPELLED = 2048
"""Characters of a secret of which every spelling is looked for; of a longer one plain and JSON."""

HIDDEN = "[secret]"
_TENANT = "{tenant}"


class SecretMissing(Exception):
    """A reference leads nowhere, to nothing that a header can carry, or where this tenant may not look.

    Says the reference, never the value.
    """

    code = SECRET_MISSING


@dataclass(frozen=True, slots=True)
class Resolved:
    """Headers or variables as they are sent. ``secrets``: the values in them that nobody else may learn."""

    values: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    def hide(self, body: bytes, *, cut: bool = False) -> bytes:
        """``body`` without the secrets, plain or as JSON or a URL spells them: a tool that repeats what it was sent must not
        carry them into the ledger. ``cut``: more came behind it, so what may begin a secret at its end is left out.
        """
        secrets = self._hidden()
        escaped = b"\\" in body or b"%" in body
        for secret in secrets:
            if escaped and len(secret) <= LONGEST_SPELLED:
                body = any_spelling(secret).sub(HIDDEN.encode(), body)
            else:
                for form in _plain_or_json(secret):
                    body = body.replace(form, HIDDEN.encode())
        return (
            _without_a_beginning(body, [form for each in secrets for form in _plain_or_json(each)])
            if cut
            else body
        )

    def hide_text(self, text: str, longest: int, *, cut: bool = False) -> str:
        """The first ``longest`` characters of ``text`` without the secrets. What UTF-8 cannot spell is shown escaped."""
        return self.hide(text.encode("utf-8", "backslashreplace"), cut=cut).decode(errors="ignore")[:longest]

    def _hidden(self) -> list[str]:
        # The longest first: one that stands within another must not leave the other's rest behind.
        return sorted((each for each in self.secrets if len(each) >= SHORTEST_HIDDEN), key=len, reverse=True)


def _plain_or_json(secret: str) -> tuple[bytes, bytes]:
    # As JSON first: of a secret with a backslash at its end the plain form would leave the second one behind.
    return json.dumps(secret)[1:-1].encode(), secret.encode()


def _without_a_beginning(body: bytes, secrets: Sequence[bytes]) -> bytes:
    """``body`` without the longest end that is the beginning of a secret."""
    lengths = (
        length
        for secret in secrets
        for length in range(min(len(secret) - 1, len(body)), 0, -1)
        if body.endswith(secret[:length])
    )
    return body[: len(body) - max(lengths, default=0)]


NOTHING = Resolved({}, ())
"""Of a call without headers of its own."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """What references may lead to. ``env``: patterns of names (``*`` matches anything), ``files``: folders; ``{tenant}``
    stands for the tenant. ``never``: folders and files that are this process's own, by whatever name a file is reached.

    Without patterns, every variable and file but those of this process itself: its settings, its database's, its home.
    """

    env: tuple[str, ...] = ("*",)
    files: tuple[str, ...] = ("/",)
    never: tuple[Path, ...] = ()

    def resolve(self, tenant: str, values: Mapping[str, Value] | None) -> Resolved:
        """The values with their references followed. Raises ``SecretMissing``. Reads files."""
        found: dict[str, str] = {}
        secrets: list[str] = []
        for name, value in (values or {}).items():
            if isinstance(value, Reference):
                secret = self._follow(tenant, value)
                secrets.append(secret)
                value = (value.prefix or "") + secret
            found[name] = value
        return Resolved(found, tuple(secrets))

    def _follow(self, tenant: str, reference: Reference) -> str:
        told = f"env {reference.env}" if reference.file is None else f"file {reference.file}"
        if reference.file is None:
            value = self._variable(tenant, reference.env or "")
        else:
            value = self._read(tenant, Path(reference.file))
        if not value or not value.isprintable() or not value.isascii():
            raise SecretMissing(f"{told} is not there, may not be used, or holds no line of printable ASCII")
        return value

    def _variable(self, tenant: str, name: str) -> str | None:
        own = name.startswith(("COMMITGATE_", "PG"))
        allowed = any(fnmatchcase(name, pattern.replace(_TENANT, tenant)) for pattern in self.env)
        return os.environ.get(name) if allowed and not own else None

    def _read(self, tenant: str, path: Path) -> str | None:
        try:
            # Followed to the end first: a link must not lead out of the folder.
            real = path.resolve(strict=True)
            allowed = any(real.is_relative_to(folder.replace(_TENANT, tenant)) for folder in self.files)
            if not allowed or real.is_relative_to("/proc") or self._is_own(real) or not real.is_file():
                return None
            with real.open("rb") as file:
                # Of what was opened: another file may have come under the name meanwhile.
                if self._has_own_name(os.fstat(file.fileno())):
                    return None
                raw = file.read(MAX_BYTES + 1)
            return None if len(raw) > MAX_BYTES else raw.decode().rstrip("\r\n")
        except (OSError, UnicodeError, RuntimeError):
            return None

    def _is_own(self, real: Path) -> bool:
        return any(real.is_relative_to(own.resolve()) for own in self.never)

    def _has_own_name(self, found: os.stat_result) -> bool:
        """Whether a file has a name of this process's own, too: it may have been reached by a hard link, or a mount."""
        return any((each.st_dev, each.st_ino) == (found.st_dev, found.st_ino) for each in _stats(self.never))


def _stats(places: Iterable[Path]) -> Iterator[os.stat_result]:
    """Of the files, and of what lies in the folders themselves; deeper is nothing but a database's."""
    for place in places:
        beneath = place.iterdir() if place.is_dir() else (place,)
        for each in beneath:
            with suppress(OSError):
                yield each.stat()


EVERYTHING = Secrets()
"""Whatever is not this process's own."""
