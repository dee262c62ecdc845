"""One tool call against the database."""

import sqlite3
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from examples.shop.refusal import RefusalError
from examples.shop.tools import reads, writes
from examples.shop.tools.arguments import ARGUMENTS
from examples.shop.tools.reads import Row

# Each tool takes its own arguments class; ARGUMENTS pairs them by name, which no annotation here can express.
Tool = Callable[[sqlite3.Connection, Any], Row]

READS: dict[str, Tool] = {
    "get_order": reads.get_order,
    "get_product": reads.get_product,
    "get_customer": reads.get_customer,
    "find_customer": reads.find_customer,
    "get_coupon": reads.get_coupon,
}
WRITES: dict[str, Tool] = {
    "set_address": writes.set_address,
    "cancel_order": writes.cancel_order,
    "exchange_item": writes.exchange_item,
    "refund_order": writes.refund_order,
    "send_message": writes.send_message,
    "create_coupon": writes.create_coupon,
    "delete_coupon": writes.delete_coupon,
}
READ_ONLY = frozenset(READS)


def run_tool(connection: sqlite3.Connection, name: str, arguments: object) -> Row:
    """The tool's answer, its change made in the caller's open transaction.

    Raises ``RefusalError``: ``unknown_tool``, ``bad_arguments``, or the tool's own; the caller rolls back.
    """
    tool = READS.get(name) or WRITES.get(name)
    if tool is None:
        raise RefusalError("unknown_tool", f"there is no tool {name}")
    try:
        checked = ARGUMENTS[name].model_validate(arguments)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "arguments"
        raise RefusalError("bad_arguments", f"{place}: {first['msg']}") from error
    return tool(connection, checked)
