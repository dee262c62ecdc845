"""Changing things. Doing one of these twice shows, but for ``set_address``, which sets an absolute value."""

import sqlite3

from examples.shop.refusal import RefusalError
from examples.shop.tools import reads
from examples.shop.tools.arguments import (
    CancelOrder,
    CreateCoupon,
    DeleteCoupon,
    ExchangeItem,
    RefundOrder,
    SendMessage,
    SetAddress,
)
from examples.shop.tools.reads import Row


def _order_in(connection: sqlite3.Connection, order_id: str, *states: str) -> Row:
    found = reads.order(connection, order_id)
    if found["status"] not in states:
        raise RefusalError("wrong_state", f"order {order_id} is {found['status']}, not {' or '.join(states)}")
    return found


def set_address(connection: sqlite3.Connection, arguments: SetAddress) -> Row:
    _order_in(connection, arguments.order_id, "pending")
    connection.execute(
        "UPDATE orders SET address = ? WHERE order_id = ?", (arguments.address, arguments.order_id)
    )
    return {"order_id": arguments.order_id, "address": arguments.address}


def cancel_order(connection: sqlite3.Connection, arguments: CancelOrder) -> Row:
    _order_in(connection, arguments.order_id, "pending")
    connection.execute("UPDATE orders SET status = 'cancelled' WHERE order_id = ?", (arguments.order_id,))
    return {"order_id": arguments.order_id, "status": "cancelled"}


def exchange_item(connection: sqlite3.Connection, arguments: ExchangeItem) -> Row:
    found = _order_in(connection, arguments.order_id, "delivered")
    new = reads.product(connection, arguments.new_product_id)
    if found["product_id"] != arguments.product_id:
        raise RefusalError("wrong_state", f"order {arguments.order_id} holds {found['product_id']}")
    if new["stock"] == 0:
        raise RefusalError("out_of_stock", f"product {arguments.new_product_id} is sold out")
    connection.execute(
        "UPDATE orders SET product_id = ? WHERE order_id = ?", (arguments.new_product_id, arguments.order_id)
    )
    connection.execute("UPDATE products SET stock = stock + 1 WHERE product_id = ?", (arguments.product_id,))
    connection.execute(
        "UPDATE products SET stock = stock - 1 WHERE product_id = ?", (arguments.new_product_id,)
    )
    return {"order_id": arguments.order_id, "product_id": arguments.new_product_id}


def refund_order(connection: sqlite3.Connection, arguments: RefundOrder) -> Row:
    found = _order_in(connection, arguments.order_id, "delivered", "cancelled")
    left = int(str(found["total"])) - int(str(found["refunded"]))
    if arguments.amount > left:
        raise RefusalError("over_refund", f"order {arguments.order_id} has {left} left to give back")
    connection.execute(
        "UPDATE orders SET refunded = refunded + ? WHERE order_id = ?", (arguments.amount, arguments.order_id)
    )
    return {"order_id": arguments.order_id, "refunded": arguments.amount}


def send_message(connection: sqlite3.Connection, arguments: SendMessage) -> Row:
    reads.customer(connection, arguments.customer_id)
    made = connection.execute(
        "INSERT INTO messages (customer_id, text) VALUES (?, ?)", (arguments.customer_id, arguments.text)
    )
    return {"message_id": made.lastrowid, "customer_id": arguments.customer_id}


def create_coupon(connection: sqlite3.Connection, arguments: CreateCoupon) -> Row:
    made = connection.execute(
        "INSERT INTO coupons (code, percent) VALUES (?, ?) ON CONFLICT DO NOTHING",
        (arguments.code, arguments.percent),
    )
    if made.rowcount == 0:
        raise RefusalError("already_exists", f"coupon {arguments.code} is there already")
    return {"code": arguments.code, "percent": arguments.percent}


def delete_coupon(connection: sqlite3.Connection, arguments: DeleteCoupon) -> Row:
    reads.coupon(connection, arguments.code)
    connection.execute("DELETE FROM coupons WHERE code = ?", (arguments.code,))
    return {"code": arguments.code, "deleted": True}
