"""Messages before they are rendered: tools as one-line signatures in the system message."""

from collections.abc import Mapping, Sequence

Message = Mapping[str, str]
"""A chat message: ``role`` and ``content``."""

Tool = Mapping[str, object]
"""A tool as OpenAI function schemas have it, with or without the ``{"type": "function", "function": …}``
around it."""

PREAMBLE = 'To use a tool, write <tool_call>{"name": NAME, "arguments": {...}}</tool_call>. Tools:'


def signature(tool: Tool) -> str:
    """``name(argument: type, optional?: type) - description``, on one line."""
    function = _mapping(tool.get("function")) or tool
    parameters = _mapping(function.get("parameters"))
    required = parameters.get("required")
    needed = set(required) if isinstance(required, list) else set()
    arguments = ", ".join(
        f"{name}{'' if name in needed else '?'}: {_mapping(schema).get('type', 'any')}"
        for name, schema in _mapping(parameters.get("properties")).items()
    )
    description = " ".join(str(function.get("description", "")).split())
    return f"{function.get('name')}({arguments})" + (f" - {description}" if description else "")


def with_signatures(messages: Sequence[Message], tools: Sequence[Tool]) -> list[dict[str, str]]:
    """The messages with the tools' signatures in the system message, which is made if there is none."""
    copied = [dict(message) for message in messages]
    if not tools:
        return copied
    lines = "\n".join([PREAMBLE, *map(signature, tools)])
    if copied and copied[0].get("role") == "system":
        copied[0]["content"] = f"{copied[0].get('content', '')}\n\n{lines}".lstrip()
        return copied
    return [{"role": "system", "content": lines}, *copied]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
