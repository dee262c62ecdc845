"""Python functions as tools, each in processes of its own.

    tools:
      cancel_order: {effect: WRITE, writes: ["order:{order_id}"], upstream: {python: "shop.tools:cancel_order"}}

The function is called with the arguments as keywords and gives a JSON value; what it raises is the tool's refusal. It may be
a coroutine function. What the call belongs to is in ``current_call()``. The processes live on from call to call, one call at a
time each, and load the module once.
"""

from gateway.upstream.callables.context import ToolCall, current_call

__all__ = ["ToolCall", "current_call"]
