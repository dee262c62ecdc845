"""What a user and the guardian that it starts tell each other."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from gateway.embedded.account import ServerAccount


@dataclass(frozen=True)
class Order:
    """What a user asks of a new guardian."""

    root: str
    account: ServerAccount
    settings: Mapping[str, str]
    patience_s: float

    def text(self) -> str:
        """The order as one argument of a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Order:
        """The order that `text()` gave."""
        fields = json.loads(text)
        return cls(**{**fields, "account": ServerAccount(**fields["account"])})


@dataclass(frozen=True)
class Report:
    """The one line to the user that started this; `busy`: another guardian has the folder."""

    state: Literal["ready", "busy", "failed"]
    code: str = ""
    message: str = ""

    def send(self) -> None:
        """Write it and close the pipe; the user may be dead already."""
        with contextlib.suppress(OSError):
            os.write(1, json.dumps(asdict(self)).encode() + b"\n")
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
