"""What can go wrong while decoding. Every class has a stable ``code``; an instance may carry a finer one.

::

    DecodingError        decoding_failed   root of the tree
    ├── OptionsError     bad_options       window, cap, stop strings or sampling parameters out of range
    ├── SinkError        sink_failed       the stream refused a batch, or did not answer
    └── ModelRefused     model_refused     target, drafter, tokenizer and prompt do not fit together
"""


class DecodingError(Exception):
    """The root. ``code`` is stable and meant for programs; the message is meant for people."""

    code = "decoding_failed"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        """``code`` replaces the class's own."""
        super().__init__(message)
        if code is not None:
            self.code = code


class OptionsError(DecodingError):
    """A parameter is out of its range; the message names it and the value given."""

    code = "bad_options"


class SinkError(DecodingError):
    """A batch was refused or never answered. ``code`` is the refusal's own where there is one
    (``stale_writer``, ...).

    Codes of our own: ``sink_failed``, ``sink_timeout``, ``resume_without_ids``.
    """

    code = "sink_failed"


class ModelRefused(DecodingError):
    """A model, tokenizer or prompt that cannot be used as asked.

    Codes: ``model_not_loadable``, ``tokenizer_not_supported``, ``no_chat_template``, ``tokenizer_mismatch``,
    ``vocabulary_mismatch``, ``scores_not_finite``, ``draft_outside_vocabulary``,
    ``prompt_outside_vocabulary``, ``empty_prompt``, ``prompt_too_long``, ``resume_mismatch``,
    ``device_not_available``.
    """

    code = "model_refused"
