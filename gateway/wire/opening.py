"""``POST /v1/streams``: opening a stream, or taking it over."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue

from decoding.calls.formats import FORMATS
from gateway.errors import NotSupported
from gateway.turn.opening import StreamTerms
from gateway.wire.base import CommitKey, Count, JSONObject, Name, Request


class ToolCalls(Request):
    """How tool calls are spelled in the tokens, and who finds them."""

    format: Literal["hermes", "llama3", "mistral", "qwen3_coder"]
    source: Annotated[Literal["posted", "detected"], Field(alias="from")]


class Binding(Request):
    """What the rulings are attributed to; further members describe it."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: JSONObject = Field(init=False)

    kind: Literal["single", "hosted"]


class Prompt(Request):
    """The prompt by its digest, and its token ids where the runtime knows them."""

    digest: Name
    ids: list[Count] | None = None


class OpenStream(Request):
    """The body. ``tool_calls`` may be left out where an existing stream is taken over."""

    commit_key: CommitKey | None = None
    tool_calls: ToolCalls | None = None
    binding: Binding | None = None
    branches: Annotated[list[Name], Field(min_length=1, max_length=1)] | None = None
    branches_mode: Literal["agree", "disjoint"] | None = None
    parent: CommitKey | None = None
    fork_of: CommitKey | None = None
    prompt: Prompt | None = None
    sampling: JSONObject | None = None
    labels: JSONObject | None = None

    def terms(self) -> StreamTerms:
        """What the stream is opened with."""
        calls = self.tool_calls
        return StreamTerms(
            format=None if calls is None else calls.format,
            source=None if calls is None else calls.source,
            binding=None if self.binding is None else self.binding.model_dump(),
            branches=None if self.branches is None else tuple(self.branches),
            branches_mode=self.branches_mode,
            parent=self.parent,
            fork_of=self.fork_of,
            prompt=None if self.prompt is None else self.prompt.model_dump(exclude_none=True),
            sampling=self.sampling,
            labels=self.labels or {},
        )


def refuse_unbuilt_terms(body: JsonValue) -> None:
    """Raise ``NotSupported`` for terms of interface.md that are not built yet. Shapes are not judged here."""
    if not isinstance(body, dict):
        return
    if body.get("threshold") is not None:
        raise NotSupported("threshold is not supported yet", path="threshold")
    if _member(body, "binding", "kind") == "pair":
        raise NotSupported("bindings of kind pair are not supported yet", path="binding.kind")
    if body.get("branches_mode") == "disjoint":
        raise NotSupported("branches that act alone are not supported yet", path="branches_mode")
    branches = body.get("branches")
    if isinstance(branches, list) and len(branches) > 1:
        raise NotSupported("more than one branch is not supported yet", path="branches")
    format_ = _member(body, "tool_calls", "format")
    if isinstance(format_, str) and format_ not in FORMATS:
        raise NotSupported(
            f"tool calls are read in these forms: {', '.join(FORMATS)}; not {format_[:80]!r}",
            path="tool_calls.format",
        )


def _member(body: dict[str, JsonValue], outer: str, inner: str) -> JsonValue:
    value = body.get(outer)
    return value.get(inner) if isinstance(value, dict) else None
