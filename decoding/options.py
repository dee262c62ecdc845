"""What a caller chooses about one turn."""

from dataclasses import dataclass, field

from decoding.errors import OptionsError
from decoding.sampling import Sampling


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """``window``: drafts per ruling; 0 is plain decoding. ``max_new_tokens``: cap on the whole message,
    tokens accepted before a resumption included; reaching it ends the turn with ``length``. ``stops``: stop
    strings (see ``decoding.text``). ``outstanding``: batches that may be without an answer before the loop
    waits. ``ack_timeout``: seconds to wait for one answer; None waits for ever.

    Raises ``OptionsError`` where a value is out of range.
    """

    window: int = 4
    max_new_tokens: int = 256
    stops: tuple[str, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    branch: str = "main"
    outstanding: int = 8
    ack_timeout: float | None = 60.0

    def __post_init__(self) -> None:
        """Refuse what cannot run."""
        for name, value, least in (
            ("window", self.window, 0),
            ("max_new_tokens", self.max_new_tokens, 1),
            ("outstanding", self.outstanding, 1),
        ):
            if value < least:
                raise OptionsError(f"{name} must be at least {least}, not {value}")
        if "" in self.stops:
            raise OptionsError("a stop string must not be empty")
