"""The effect table: what each tool may do to the world, said by an operator (interface.md, "Tools
(upstreams)").

A table is a value. It is read from YAML, or from the document that the ledger keeps of it, and then answers
one question: ``classify`` a call.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from effects.approval import DEFAULT_EXPIRY, ApprovalRule
from effects.arguments import ArgumentFault
from effects.canonical import digest
from effects.classes import EffectClass
from effects.definition import definition
from effects.document import place, read_document
from effects.errors import EffectTableRefused, LiteralSecretRefused
from effects.footprint import Footprint, footprint
from effects.limits import Limits
from effects.outbound import Outbound
from effects.policy import Policy
from effects.rules import Verdict, rule
from effects.secrets import LITERAL_SECRET
from effects.strict_json import JSONValue
from effects.tool import DEFAULT_MAX_RESULT, DEFAULT_TIMEOUT, Probe, Tool
from effects.upstream import ACCEPTED_BEFORE, Server, Upstream
from effects.wording import fault_said

ToolName = Annotated[str, Field(pattern=r"^[^\s\x00-\x1f\x7f]{1,128}$")]


@dataclass(frozen=True, slots=True)
class Classification:
    """What the table says about one call.

    ``known``: the table names the tool. ``because``: the reason for ``effect``, for a person. Times are
    seconds. ``fault``: what the tool's schema says against the arguments. ``definition``: digest of what the table says of the
    tool (``effects.definition``); None where it knows none.
    """

    tool: str
    effect: EffectClass
    known: bool
    may_speculate: bool
    footprint: Footprint
    because: str
    upstream: Upstream | None = None
    server: Server | None = None
    timeout: float = DEFAULT_TIMEOUT
    window: float | None = None
    max_age: float | None = None
    max_result: int = DEFAULT_MAX_RESULT
    approval: ApprovalRule | None = None
    approval_seconds: float = DEFAULT_EXPIRY
    fault: ArgumentFault | None = None
    probe: Probe | None = None
    limits: Limits | None = None
    definition: str | None = None


class EffectTable(BaseModel):
    """Tools by name, the servers that they may name, and the policy for all of them. Immutable.

    ``limits``: of all tools together; those of a tool hold beside them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tools: dict[ToolName, Tool]
    servers: dict[ToolName, Server] = Field(default_factory=dict)
    policy: Policy = Policy()
    outbound: Outbound = Outbound()
    limits: Limits | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a table from YAML. Raises ``EffectTableRefused``, which names the place of the first fault."""
        return cls.from_document(read_document(text))

    @classmethod
    def from_document(cls, document: Mapping[str, JSONValue], *, accepted_before: bool = False) -> Self:
        """Read a table from its document. Raises ``EffectTableRefused``, which names the place of the first
        fault. ``accepted_before``: it was taken once, and secrets in its URLs, refused since, stay readable.
        """
        try:
            # Through JSON: pydantic's strict mode then knows lists from tuples and texts from numbers.
            table = cls.model_validate_json(
                json.dumps(document), strict=True, context={ACCEPTED_BEFORE: accepted_before}
            )
        except ValidationError as error:
            raise _refused(error) from None
        table._refuse_dangling()
        table._refuse_destinations()
        return table

    def document(self) -> dict[str, JSONValue]:
        """The table as a JSON object, defaults spelled out; tables that mean the same have the same
        document.
        """
        return cast(dict[str, JSONValue], self.model_dump(mode="json", exclude_none=True, by_alias=True))

    @cached_property
    def digest(self) -> str:
        """``sha256:<hex>`` of the canonical document."""
        return digest(self.document())

    def classify(self, tool: str, arguments: Mapping[str, object] | None) -> Classification:
        """Classify a call of ``tool`` with ``arguments`` (a JSON object; None: they could not be read).

        A tool that is not in the table: WRITE, everything undeclared. Arguments that could not be read: the
        highest class that the tool's calls can have. Never raises on account of the arguments.
        """
        entry = self.tools.get(tool)
        if entry is None:
            nothing = Footprint(None, None, None)
            return Classification(tool, EffectClass.WRITE, False, False, nothing, "unknown tool")
        ruled = rule(entry.effect, entry.rules, arguments)
        return Classification(
            tool=tool,
            effect=ruled.effect,
            known=True,
            may_speculate=arguments is not None and entry.may_speculate(ruled.effect),
            footprint=footprint(ruled.effect, entry.reads, entry.writes, entry.upstream.name, arguments),
            because=_because(ruled.verdicts, readable=arguments is not None),
            upstream=entry.upstream,
            server=self._server_of(entry),
            timeout=entry.timeout,
            window=entry.window,
            max_age=entry.max_age,
            max_result=entry.max_result,
            approval=entry.approval,
            approval_seconds=entry.approval_seconds,
            fault=_fault(entry, arguments),
            probe=entry.probe,
            limits=entry.limits,
            definition=self.definition(tool),
        )

    def definition(self, tool: str) -> str | None:
        """Digest of what the table says of ``tool`` (``effects.definition``); None where it does not know it."""
        known = self._definitions.get(tool)
        entry = self.tools.get(tool)
        if known is None and entry is not None:
            known = self._definitions[tool] = definition(tool, entry, self._server_of(entry))
        return known

    @cached_property
    def _definitions(self) -> dict[str, str]:
        return {}

    def _server_of(self, entry: Tool) -> Server | None:
        return None if entry.upstream.mcp is None else self.servers.get(entry.upstream.mcp)

    def _refuse_destinations(self) -> None:
        urls = {
            place("tools", name) + ".upstream.http": tool.upstream.http for name, tool in self.tools.items()
        }
        urls |= {place("servers", alias) + ".url": server.url for alias, server in self.servers.items()}
        for path, url in urls.items():
            why = None if url is None else self.outbound.refuses_url(url)
            if why is not None:
                raise EffectTableRefused(path, f"{why} addresses are refused unless outbound.allow has them")

    def _refuse_dangling(self) -> None:
        for name, tool in self.tools.items():
            path = place("tools", name)
            alias = tool.upstream.mcp
            if alias is not None and alias not in self.servers:
                raise EffectTableRefused(f"{path}.upstream.mcp", f"servers has no {alias!r}")
            pins = None if alias is None else self.servers[alias].pins
            called = tool.upstream.tool or name
            if pins is not None and called not in pins:
                raise EffectTableRefused(f"{path}.upstream", f"servers.{alias}.pins has no {called!r}")
            if tool.probe is None:
                continue
            probed = self.tools.get(tool.probe.tool)
            if probed is None or EffectClass.READ_ONLY not in probed.possible:
                raise EffectTableRefused(
                    f"{path}.probe.tool", f"{tool.probe.tool!r} is no READ_ONLY tool of the table"
                )


def _fault(tool: Tool, arguments: Mapping[str, object] | None) -> ArgumentFault | None:
    if tool.arguments_schema is None or arguments is None:
        return None
    return tool.arguments_schema.fault(arguments)


def _because(verdicts: tuple[Verdict, ...], *, readable: bool) -> str:
    if not readable:
        return "arguments could not be read: the highest class of the tool"
    said = [
        f"rules[{index}] {'matches' if verdict is Verdict.TRUE else 'cannot be decided'}"
        for index, verdict in enumerate(verdicts)
        if verdict in {Verdict.TRUE, Verdict.UNDECIDABLE}
    ]
    return "; ".join(said) or "pinned"


def _refused(error: ValidationError) -> EffectTableRefused:
    faults = error.errors(include_url=False, include_input=False)
    path = ""
    for step in faults[0]["loc"]:
        # "[key]" is pydantic's own word for "the name, not the member".
        path = path if step == "[key]" else place(path, step)
    kind = LiteralSecretRefused if faults[0]["type"] == LITERAL_SECRET else EffectTableRefused
    return kind(path, fault_said(faults[0]), len(faults) - 1)
