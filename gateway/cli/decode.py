"""``commitgate decode``: one message, decoded into the ledger of this machine."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
import uuid_utils

from gateway.cli.output import Format, FormatOption, chosen, say, write_line
from gateway.cli.session import services
from gateway.demo.models import Models, load_models
from gateway.demo.textpane import printable
from gateway.errors import InvalidRequest, NotSupported
from gateway.sinks.local import LocalSink
from gateway.turn.opening import StreamTerms

if TYPE_CHECKING:
    from decoding.options import LoopOptions
    from decoding.progress import LoopEvent
    from decoding.turn import TurnResult


class Rule(StrEnum):
    """How drafts are judged."""

    MATCH = "match"
    RATIO = "ratio"


class Device(StrEnum):
    """Where models run."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


def decode(
    target: Annotated[str, typer.Option(metavar="PATH_OR_NAME", help="The model that rules.")],
    prompt: Annotated[str, typer.Option(help="What the user says.")],
    draft: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH_OR_NAME", help="The drafter; ngram: prompt lookup. One is supported yet."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws; nothing at temperature 0.")] = 0,
    rule: Annotated[Rule, typer.Option(help="match is supported yet.")] = Rule.MATCH,
    window: Annotated[
        str, typer.Option(metavar="N|auto", help="Drafts per ruling; 0: plain decoding.")
    ] = "4",
    device: Annotated[Device, typer.Option(help="auto takes a GPU if there is one.")] = Device.AUTO,
    temperature: Annotated[float, typer.Option(min=0.0, help="0: the most probable token.")] = 0.0,
    max_new: Annotated[int, typer.Option(min=1, help="Most tokens of the message.")] = 256,
    format_: FormatOption = None,
) -> None:
    """Decode one message and record it: tokens, rulings, and the calls that it makes, which wait for a dispatcher.

    The text goes to standard output as it is accepted, the summary to standard error; with --format json, one line for
    each piece of text, then {"summary": ...}.
    """
    drafts = draft or []
    _refuse_unbuilt(rule, window, drafts)
    size = _window(window)
    as_json = chosen(format_) is Format.JSON
    # The ledger first: where it cannot be used, no model has to be loaded to learn it.
    with services() as (wired, caller):
        say("loading models")
        models = load_models(target, drafts, device.value)
        key = str(uuid_utils.uuid7())
        sink = LocalSink(
            wired.streams, caller, key, StreamTerms("hermes", "detected", labels={"made_by": "decode"})
        )
        try:
            result = _run(models, prompt, sink, _options(size, seed, temperature, max_new), as_json=as_json)
        finally:
            sink.close()
        _summarise(key, result, len(wired.streams.state(caller, key).intents), as_json=as_json)


def _refuse_unbuilt(rule: Rule, window: str, drafts: list[str]) -> None:
    if rule is not Rule.MATCH:
        raise NotSupported("rule ratio is not supported yet", path="rule")
    if window == "auto":
        raise NotSupported("a window chosen by itself is not supported yet", path="window")
    if len(drafts) > 1:
        raise NotSupported("more than one drafter is not supported yet", path="draft")


def _window(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise InvalidRequest(f"--window is a number or auto, not {text!r}")
    return int(text)


def _options(window: int, seed: int, temperature: float, max_new: int) -> "LoopOptions":
    from decoding.options import LoopOptions
    from decoding.sampling import Sampling

    sampling = Sampling(temperature=temperature, seed=seed)
    return LoopOptions(window=window, max_new_tokens=max_new, sampling=sampling)


def _run(
    models: Models, prompt: str, sink: LocalSink, options: "LoopOptions", *, as_json: bool
) -> "TurnResult":
    from decoding.loop import run_turn

    ids = models.target.tokenizer.encode_prompt([{"role": "user", "content": prompt}])
    drafter = models.drafters[0] if models.drafters else None
    return run_turn(models.target, drafter, ids, sink, options, lambda event: _tell(event, as_json=as_json))


def _tell(event: "LoopEvent", *, as_json: bool) -> None:
    from decoding.progress import Accepted, Ruled

    if isinstance(event, Ruled):
        own = () if event.token is None else (event.token,)
        text = "".join(token.text for token in (*event.accepted, *own))
    elif isinstance(event, Accepted):
        text = event.token.text
    else:
        return
    if as_json:
        write_line({"text": text})
    else:
        sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()


def _summarise(key: str, result: "TurnResult", calls: int, *, as_json: bool) -> None:
    drafters = {
        name: {
            "drafted": counts.drafted,
            "accepted": counts.accepted,
            "rejected": counts.rejected,
            "unreached": counts.unreached,
        }
        for name, counts in result.drafters.items()
    }
    told = {
        "commit_key": key,
        "finish_reason": result.finish_reason,
        "tokens": len(result.ids),
        "target_passes": result.target_passes,
        "drafters": drafters,
        "calls": calls,
        "draft_seconds": round(result.draft_seconds, 3),
        "verify_seconds": round(result.verify_seconds, 3),
    }
    if as_json:
        write_line({"summary": told})
        return
    sys.stdout.write("\n")
    for name, value in told.items():
        say(f"{name:>15}  {value}")
