"""Looking things up."""

import sqlite3

from examples.shop.refusal import RefusalError
from examples.shop.tools.arguments import FindCustomer, GetCoupon, GetCustomer, GetOrder, GetProduct

Row = dict[str, object]


def one(connection: sqlite3.Connection, query: str, key: str, what: str) -> Row:
    """The single row of ``query`` for ``key``; refuses with ``not_found``."""
    row = connection.execute(query, (key,)).fetchone()
    if row is None:
        raise RefusalError("not_found", f"there is no {what} {key}")
    return dict(row)


def order(connection: sqlite3.Connection, order_id: str) -> Row:
    """The order as it is now."""
    return one(connection, "SELECT * FROM orders WHERE order_id = ?", order_id, "order")


def product(connection: sqlite3.Connection, product_id: str) -> Row:
    """The product as it is now."""
    return one(connection, "SELECT * FROM products WHERE product_id = ?", product_id, "product")


def coupon(connection: sqlite3.Connection, code: str) -> Row:
    """The coupon as it is now."""
    return one(connection, "SELECT * FROM coupons WHERE code = ?", code, "coupon")


CUSTOMER = (
    "SELECT c.*, (SELECT count(*) FROM messages m WHERE m.customer_id = c.customer_id) AS messages"
    " FROM customers c"
)


def customer(connection: sqlite3.Connection, customer_id: str) -> Row:
    """The customer, with how many messages were sent to them."""
    return one(connection, f"{CUSTOMER} WHERE c.customer_id = ?", customer_id, "customer")


def get_order(connection: sqlite3.Connection, arguments: GetOrder) -> Row:
    return order(connection, arguments.order_id)


def get_product(connection: sqlite3.Connection, arguments: GetProduct) -> Row:
    return product(connection, arguments.product_id)


def get_customer(connection: sqlite3.Connection, arguments: GetCustomer) -> Row:
    return customer(connection, arguments.customer_id)


def find_customer(connection: sqlite3.Connection, arguments: FindCustomer) -> Row:
    return one(connection, f"{CUSTOMER} WHERE c.name = ?", arguments.name, "customer named")


def get_coupon(connection: sqlite3.Connection, arguments: GetCoupon) -> Row:
    return coupon(connection, arguments.code)
