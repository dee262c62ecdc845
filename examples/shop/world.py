"""The shop's initial data: who bought what. Made from a seed, the same on every machine."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

DEMO_SEED = 2026

WORDS: dict[str, list[str]] = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
STATUSES = ("pending", "pending", "shipped", "delivered", "delivered")
"""Weighted by repetition: pending orders can be cancelled, delivered ones exchanged and refunded."""


@dataclass(frozen=True, slots=True)
class Customer:
    """``customer_id``: C and two digits."""

    customer_id: str
    name: str
    city: str


@dataclass(frozen=True, slots=True)
class Product:
    """``product_id``: P and two digits; ``price`` in whole euros."""

    product_id: str
    title: str
    price: int
    stock: int


@dataclass(frozen=True, slots=True)
class Order:
    """``order_id``: W and three digits; one product per order; ``total`` in whole euros."""

    order_id: str
    customer_id: str
    product_id: str
    quantity: int
    total: int
    status: str
    address: str


@dataclass(frozen=True, slots=True)
class Coupon:
    """``code``: an upper-case word and two digits."""

    code: str
    percent: int


@dataclass(frozen=True, slots=True)
class World:
    """Everything the shop knows on its first day."""

    customers: tuple[Customer, ...]
    products: tuple[Product, ...]
    orders: tuple[Order, ...]
    coupons: tuple[Coupon, ...]


def make_address(r: random.Random) -> str:
    """A street address as the models can spell it, such as ``47 Mill Street``."""
    return f"{r.randint(1, 99)} {r.choice(WORDS['streets'])} Street"


def make_code(r: random.Random) -> str:
    """A coupon code, such as ``SPRING37``."""
    return f"{r.choice(WORDS['code_words'])}{r.randint(10, 99)}"


def make_world(seed: int = DEMO_SEED, orders: int = 80, customers: int = 30, products: int = 20) -> World:
    """The world of ``seed``: at most 900 orders, 90 customers, 90 products; ids are drawn, not counted up."""
    r = random.Random(f"shop world {seed}")
    names = r.sample(
        [f"{first} {last}" for first in WORDS["first_names"] for last in WORDS["last_names"]], customers
    )
    buyers = tuple(
        Customer(f"C{number}", name, r.choice(WORDS["cities"]))
        for number, name in zip(sorted(r.sample(range(10, 100), customers)), names, strict=True)
    )
    goods = tuple(
        Product(f"P{number}", r.choice(WORDS["goods"]), r.randint(5, 90), r.randint(3, 40))
        for number in sorted(r.sample(range(10, 100), products))
    )
    codes = sorted({make_code(r) for _ in range(16)})
    return World(
        customers=buyers,
        products=goods,
        orders=tuple(
            _order(r, f"W{number}", buyers, goods) for number in sorted(r.sample(range(100, 1000), orders))
        ),
        coupons=tuple(Coupon(code, r.randint(5, 60)) for code in codes),
    )


def _order(
    r: random.Random, order_id: str, buyers: tuple[Customer, ...], goods: tuple[Product, ...]
) -> Order:
    product, quantity = r.choice(goods), r.randint(1, 4)
    return Order(
        order_id=order_id,
        customer_id=r.choice(buyers).customer_id,
        product_id=product.product_id,
        quantity=quantity,
        total=product.price * quantity,
        status=r.choice(STATUSES),
        address=make_address(r),
    )
