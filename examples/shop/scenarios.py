"""What people ask the shop's agent for, and the calls that answer it: for demo, tests and training.

Everything a call needs stands in the request, so a small model can spell the call by copying. Several calls
of one message touch the same thing: a read before a write, a read behind it, writes side by side.
"""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from examples.shop.world import Coupon, Customer, Order, Product, World, make_address, make_code

T = TypeVar("T")

REASONS = ("changed mind", "ordered twice", "found cheaper", "too slow", "wrong size", "no longer needed")


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call as the agent spells it."""

    name: str
    arguments: Mapping[str, str | int]

    def hermes(self) -> str:
        """The call block, delimiters included."""
        return f"<tool_call>{json.dumps({'name': self.name, 'arguments': dict(self.arguments)})}</tool_call>"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One request: ``ask`` is the user's turn; ``say`` and ``calls`` make the agent's message."""

    kind: str
    ask: str
    say: str
    calls: tuple[Call, ...]

    def message(self) -> str:
        """The agent's whole message: a line of prose, then a line per call."""
        return "\n".join([self.say, *(call.hermes() for call in self.calls)])


@dataclass(slots=True)
class Pick:
    """Draws things of one world; a thing drawn is not drawn again while others of its kind are left."""

    world: World
    random: random.Random
    taken: set[str] = field(default_factory=set)

    def order(self, *statuses: str) -> Order:
        """An order in one of ``statuses``; none named: any."""
        return self._fresh([o for o in self.world.orders if not statuses or o.status in statuses], "order_id")

    def customer(self) -> Customer:
        """A customer."""
        return self._fresh(list(self.world.customers), "customer_id")

    def product(self) -> Product:
        """A product."""
        return self._fresh(list(self.world.products), "product_id")

    def coupon(self) -> Coupon:
        """A coupon that exists."""
        return self._fresh(list(self.world.coupons), "code")

    def new_code(self) -> str:
        """The code of a coupon that does not exist yet."""
        known = {coupon.code for coupon in self.world.coupons} | self.taken
        code = make_code(self.random)
        while code in known:
            code = make_code(self.random)
        self.taken.add(code)
        return code

    def one_of(self, *choices: str) -> str:
        """One of ``choices``."""
        return self.random.choice(choices)

    def _fresh(self, things: list[T], identity: str) -> T:
        left = [thing for thing in things if getattr(thing, identity) not in self.taken] or things
        thing = self.random.choice(left)
        self.taken.add(getattr(thing, identity))
        return thing


def _get_order(order_id: str) -> Call:
    return Call("get_order", {"order_id": order_id})


def check_then_cancel(p: Pick) -> Scenario:
    o, reason = p.order("pending").order_id, p.one_of(*REASONS)
    ask = p.one_of(
        f"Check order {o} and cancel it, reason: {reason}.",
        f"Look at order {o}, then cancel it because: {reason}.",
    )
    cancel = Call("cancel_order", {"order_id": o, "reason": reason})
    return Scenario("check_then_cancel", ask, f"Checking and cancelling order {o}.", (_get_order(o), cancel))


def cancel_then_show(p: Pick) -> Scenario:
    o, reason = p.order("pending").order_id, p.one_of(*REASONS)
    ask = p.one_of(
        f"Cancel order {o}, reason: {reason}, and show it after.",
        f"Please cancel {o} ({reason}) and show me the order.",
    )
    cancel = Call("cancel_order", {"order_id": o, "reason": reason})
    return Scenario("cancel_then_show", ask, f"Cancelling order {o}.", (cancel, _get_order(o)))


def move_then_show(p: Pick) -> Scenario:
    o, address = p.order("pending").order_id, make_address(p.random)
    ask = p.one_of(
        f"Send order {o} to {address} and show it after.",
        f"The address of {o} is now {address}. Show me the order.",
    )
    move = Call("set_address", {"order_id": o, "address": address})
    return Scenario("move_then_show", ask, f"Setting the address of {o}.", (move, _get_order(o)))


def check_then_move(p: Pick) -> Scenario:
    o, address = p.order("pending").order_id, make_address(p.random)
    ask = p.one_of(
        f"Check order {o}, then send it to {address}.", f"Look up {o} and change its address to {address}."
    )
    move = Call("set_address", {"order_id": o, "address": address})
    return Scenario("check_then_move", ask, f"Checking order {o}, then its address.", (_get_order(o), move))


def refund_and_tell(p: Pick) -> Scenario:
    order = p.order("delivered")
    o, c, amount = order.order_id, order.customer_id, p.random.randint(1, order.total)
    ask = p.one_of(
        f"Refund {amount} for order {o} and tell customer {c}.",
        f"Give back {amount} on {o} and write to {c} about it.",
    )
    calls = (
        Call("refund_order", {"order_id": o, "amount": amount}),
        Call("send_message", {"customer_id": c, "text": f"Your refund of {amount} is on its way."}),
    )
    return Scenario("refund_and_tell", ask, f"Refunding {amount} for order {o}.", calls)


def check_refund_show(p: Pick) -> Scenario:
    order = p.order("delivered")
    o, amount = order.order_id, p.random.randint(1, order.total)
    ask = p.one_of(
        f"Check order {o}, refund {amount} and show it again.",
        f"Look at {o}, give back {amount}, then show the order.",
    )
    refund = Call("refund_order", {"order_id": o, "amount": amount})
    return Scenario(
        "check_refund_show",
        ask,
        f"Checking order {o}, then refunding {amount}.",
        (_get_order(o), refund, _get_order(o)),
    )


def exchange_then_stock(p: Pick) -> Scenario:
    order, new = p.order("delivered"), p.product().product_id
    o, old = order.order_id, order.product_id
    ask = p.one_of(
        f"Exchange {old} in order {o} for {new} and show the stock of {new}.",
        f"Order {o}: swap {old} for {new}, then how many {new} are left?",
    )
    calls = (
        Call("exchange_item", {"order_id": o, "product_id": old, "new_product_id": new}),
        Call("get_product", {"product_id": new}),
    )
    return Scenario("exchange_then_stock", ask, f"Exchanging {old} for {new} in order {o}.", calls)


def two_looks(p: Pick) -> Scenario:
    o, q = p.order().order_id, p.product().product_id
    ask = p.one_of(f"Show order {o} and product {q}.", f"How is order {o}, and is {q} in stock?")
    return Scenario(
        "two_looks", ask, f"Looking up {o} and {q}.", (_get_order(o), Call("get_product", {"product_id": q}))
    )


def who_and_what(p: Pick) -> Scenario:
    who, o = p.customer(), p.order().order_id
    ask = p.one_of(f"Find {who.name} and show order {o}.", f"Who is {who.name}? And how is order {o}?")
    return Scenario(
        "who_and_what",
        ask,
        f"Finding {who.name}.",
        (Call("find_customer", {"name": who.name}), _get_order(o)),
    )


def write_then_count(p: Pick) -> Scenario:
    c, o = p.customer().customer_id, p.order().order_id
    ask = p.one_of(
        f"Tell customer {c} that order {o} is late and show the customer.",
        f"Write to {c}: order {o} is late. Then show {c}.",
    )
    calls = (
        Call("send_message", {"customer_id": c, "text": f"Order {o} is late."}),
        Call("get_customer", {"customer_id": c}),
    )
    return Scenario("write_then_count", ask, f"Writing to customer {c}.", calls)


def swap_coupons(p: Pick) -> Scenario:
    new, percent, old = p.new_code(), p.random.randint(5, 60), p.coupon().code
    ask = p.one_of(
        f"Create coupon {new} with {percent} percent, delete {old} and check {new}.",
        f"New coupon {new} at {percent} percent, drop {old}, then show {new}.",
    )
    calls = (
        Call("create_coupon", {"code": new, "percent": percent}),
        Call("delete_coupon", {"code": old}),
        Call("get_coupon", {"code": new}),
    )
    return Scenario("swap_coupons", ask, f"Creating {new} and deleting {old}.", calls)


def coupon_for_customer(p: Pick) -> Scenario:
    code, percent, c = p.new_code(), p.random.randint(5, 60), p.customer().customer_id
    ask = p.one_of(
        f"Make coupon {code} with {percent} percent and tell {c}.",
        f"Customer {c} gets coupon {code}, {percent} percent.",
    )
    calls = (
        Call("create_coupon", {"code": code, "percent": percent}),
        Call("send_message", {"customer_id": c, "text": f"Use coupon {code} for {percent} percent off."}),
    )
    return Scenario("coupon_for_customer", ask, f"Creating coupon {code} for {c}.", calls)


def cancel_two(p: Pick) -> Scenario:
    a, b, reason = p.order("pending").order_id, p.order("pending").order_id, p.one_of(*REASONS)
    ask = p.one_of(
        f"Cancel orders {a} and {b}, reason: {reason}.", f"Please cancel {a} and also {b} ({reason})."
    )
    calls = tuple(Call("cancel_order", {"order_id": o, "reason": reason}) for o in (a, b))
    return Scenario("cancel_two", ask, f"Cancelling {a} and {b}.", calls)


def look_once(p: Pick) -> Scenario:
    o = p.order().order_id
    ask = p.one_of(f"Where is order {o}?", f"Show me order {o}.")
    return Scenario("look_once", ask, f"Looking up order {o}.", (_get_order(o),))


KINDS: tuple[Callable[[Pick], Scenario], ...] = (
    cancel_then_show,
    refund_and_tell,
    swap_coupons,
    move_then_show,
    two_looks,
    check_refund_show,
    exchange_then_stock,
    check_then_cancel,
    write_then_count,
    coupon_for_customer,
    check_then_move,
    who_and_what,
    cancel_two,
    look_once,
)


def draw(pick: Pick) -> Scenario:
    """One scenario of a random kind."""
    return pick.random.choice(KINDS)(pick)


def scenarios(world: World, count: int, seed: int = 1) -> tuple[Scenario, ...]:
    """``count`` scenarios over ``world``, every kind in turn; nothing is used twice while others are left."""
    pick = Pick(world, random.Random(f"shop scenarios {seed}"))
    return tuple(KINDS[turn % len(KINDS)](pick) for turn in range(count))
