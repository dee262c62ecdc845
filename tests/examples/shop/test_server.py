import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from examples.shop.world import make_world
from tests.examples.shop.process import ROOT, Shop, running_shop

WORLD = make_world()
PENDING = [order for order in WORLD.orders if order.status == "pending"]
DELIVERED = [order for order in WORLD.orders if order.status == "delivered"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with running_shop(tmp_path_factory.mktemp("shop")) as running:
        yield running


def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)


def test_a_read_answers_and_is_logged_without_an_effect(shop: Shop) -> None:
    order = WORLD.orders[0]
    answer = shop.call(
        "get_order", {"order_id": order.order_id}, Commit_Key="k1", Intent_Id="i1", traceparent="t"
    )
    assert (answer.status_code, answer.json()["status"]) == (200, order.status)
    received, handled = shop.log()[-2:]
    assert received["line"] == "received"
    assert (received["tool"], received["commit_key"], received["intent_id"]) == ("get_order", "k1", "i1")
    assert (received["traceparent"], received["idempotency_key"]) == ("t", None)
    assert json.loads(received["arguments"]) == {"order_id": order.order_id}
    assert (handled["line"], handled["n"], handled["effect"]) == ("handled", received["n"], False)


def test_a_write_takes_effect_each_time_it_is_sent_whatever_its_key(shop: Shop) -> None:
    order = next(order for order in DELIVERED if order.total >= 10)
    for _ in range(2):
        answer = shop.call("refund_order", {"order_id": order.order_id, "amount": 4}, Idempotency_Key="same")
        assert answer.status_code == 200
        assert shop.log()[-1]["effect"] is True
    assert shop.call("get_order", {"order_id": order.order_id}).json()["refunded"] == 8


def test_an_idempotency_key_keeps_the_first_answer(shop: Shop) -> None:
    mine, other = PENDING[0].order_id, PENDING[1].order_id
    first = shop.call("set_address", {"order_id": mine, "address": "1 Oak Street"}, Idempotency_Key="a")
    shop.call("set_address", {"order_id": mine, "address": "2 Oak Street"}, Idempotency_Key="b")
    again = shop.call("set_address", {"address": "1 Oak Street", "order_id": mine}, Idempotency_Key="a")
    assert (again.status_code, again.json()) == (200, first.json())
    assert (shop.log()[-1]["replayed"], shop.log()[-1]["effect"]) == (True, False)
    assert shop.call("get_order", {"order_id": mine}).json()["address"] == "2 Oak Street"
    reused = shop.call("set_address", {"order_id": other, "address": "1 Oak Street"}, Idempotency_Key="a")
    assert (reused.status_code, reused.json()["error"]) == (409, "idempotency_key_reused")


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "code"),
    [
        ("get_order", {"order_id": "W000"}, 404, "not_found"),
        ("fly", {}, 404, "unknown_tool"),
        ("get_order", {}, 422, "bad_arguments"),
        ("get_order", {"order_id": "W123", "more": 1}, 422, "bad_arguments"),
        ("get_order", ["W123"], 422, "bad_arguments"),
        ("refund_order", {"order_id": DELIVERED[0].order_id, "amount": "4"}, 422, "bad_arguments"),
        ("refund_order", {"order_id": DELIVERED[0].order_id, "amount": 99_999}, 409, "over_refund"),
        ("refund_order", {"order_id": PENDING[2].order_id, "amount": 1}, 409, "wrong_state"),
        ("cancel_order", {"order_id": DELIVERED[0].order_id, "reason": "late"}, 409, "wrong_state"),
        ("create_coupon", {"code": WORLD.coupons[0].code, "percent": 5}, 409, "already_exists"),
        ("delete_coupon", {"code": "NOPE11"}, 404, "not_found"),
        ("send_message", {"customer_id": "C00", "text": "hi"}, 404, "not_found"),
    ],
)
def test_a_refusal_says_why_and_has_no_effect(
    shop: Shop, tool: str, arguments: object, status: int, code: str
) -> None:
    answer = shop.call(tool, arguments)
    assert (answer.status_code, answer.json()["error"]) == (status, code)
    handled = shop.log()[-1]
    assert (handled["status"], handled["error"], handled["effect"]) == (status, code, False)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b"[" * 50_000, b'{"name": "\\ud800"}', b'{"\\ud800": 1}', b'"' + b"x" * 70_000],
)
def test_a_broken_body_is_refused_and_kept_as_it_came(shop: Shop, body: bytes) -> None:
    answer = shop.client.post(f"{shop.origin}/tools/find_customer", content=body)
    assert answer.status_code in (400, 422)
    assert answer.json()["error"] in ("bad_json", "bad_arguments")
    received = shop.log()[-2]
    assert received["arguments"] == body.decode("utf-8", "backslashreplace")


def test_the_other_tools_do_what_they_say(shop: Shop) -> None:
    done, customer, product = DELIVERED[-1], WORLD.customers[0].customer_id, WORLD.products[0]
    swap = {"order_id": done.order_id, "product_id": done.product_id, "new_product_id": product.product_id}
    assert shop.call("exchange_item", swap).status_code == 200
    assert shop.call("get_order", {"order_id": done.order_id}).json()["product_id"] == product.product_id
    before = shop.call("get_customer", {"customer_id": customer}).json()["messages"]
    assert shop.call("send_message", {"customer_id": customer, "text": "Hello."}).status_code == 200
    assert shop.call("find_customer", {"name": WORLD.customers[0].name}).json()["messages"] == before + 1
    assert shop.call("create_coupon", {"code": "BRAVE42", "percent": 7}).status_code == 200
    assert shop.call("get_coupon", {"code": "BRAVE42"}).json()["percent"] == 7
    assert shop.call("delete_coupon", {"code": "BRAVE42"}).status_code == 200
    assert shop.call("get_coupon", {"code": "BRAVE42"}).status_code == 404
    assert shop.call("cancel_order", {"order_id": PENDING[-1].order_id, "reason": "late"}).status_code == 200
    assert shop.call("get_order", {"order_id": PENDING[-1].order_id}).json()["status"] == "cancelled"


def test_received_is_on_disk_before_the_shop_acts_and_survives_a_kill(tmp_path: Path) -> None:
    order = {"order_id": PENDING[0].order_id}
    with running_shop(tmp_path, "--latency", "cancel_order=60000") as slow:
        with pytest.raises(httpx2.TimeoutException):
            slow.call("cancel_order", {**order, "reason": "late"}, timeout=0.5)
        assert [line["line"] for line in slow.log()] == ["received"]
        slow.process.send_signal(signal.SIGKILL)
        slow.process.wait(10)
    with (tmp_path / "requests.jsonl").open("ab") as torn:
        torn.write(b'{"line": "recei')
    with running_shop(tmp_path) as again:
        assert again.call("get_order", order).json()["status"] == "pending"
        assert [(line["line"], line["n"]) for line in again.log()] == [
            ("received", 1),
            ("received", 2),
            ("handled", 2),
        ]


def test_an_effect_is_logged_though_the_caller_gave_up(tmp_path: Path) -> None:
    order = {"order_id": PENDING[0].order_id}
    with running_shop(tmp_path, "--latency", "cancel_order=0+60000") as slow:
        with pytest.raises(httpx2.TimeoutException):
            slow.call("cancel_order", {**order, "reason": "late"}, timeout=1)
        until(lambda: len(slow.log()) == 2)
        assert slow.log()[-1]["effect"] is True
        assert slow.call("get_order", order).json()["status"] == "cancelled"


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_what_is_under_way_and_ends_cleanly(tmp_path: Path, ending: signal.Signals) -> None:
    ready = tmp_path / "ready.json"
    with running_shop(tmp_path / "data", "--ready-file", str(ready)) as shop:
        assert json.loads(ready.read_text())["origin"] == shop.origin
        assert json.loads(ready.read_text())["pid"] == shop.process.pid
        shop.process.send_signal(ending)
        assert shop.process.wait(10) == 0
        with pytest.raises(httpx2.ConnectError):
            shop.call("get_order", {"order_id": "W123"})


@pytest.mark.parametrize("options", [["--latency", "fly=3"], ["--latency", "get_order=-1"], ["--port", "x"]])
def test_a_bad_command_line_is_said_in_one_line(tmp_path: Path, options: list[str]) -> None:
    command = [sys.executable, "-m", "examples.shop.server", "--data", str(tmp_path), *options]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
