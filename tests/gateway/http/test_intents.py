import threading
import time

import httpx2

from gateway.http.app import create_app
from gateway.http.settings import HttpSettings
from tests.gateway.http.front import Body, Front, Writer, block, cut, problem, serving

A, B, C = block("get", name="a"), block("put", name="b"), block("put", name="c")
LA, LB, LC = (len(cut(text)) for text in (A, B, C))


def call(start: int, end: int, tool: str, **members: object) -> Body:
    name = {"get": "a", "put": "b"}[tool]
    return {"span": [start, end], "tool": tool, "arguments": {"name": name}, "round": 0, **members}


def drafted(front: Front, *texts: str) -> Writer:
    writer = front.open()
    for text in texts:
        writer.draft(text)
    return writer


def test_holds_a_posted_call_and_finds_it_again(front: Front) -> None:
    writer = drafted(front, B)
    first = writer.post(call(0, LB, "put", call_id="c1"))
    assert first.status_code == 202
    intent = first.json()
    assert (intent["state"], intent["block"], intent["effect"]) == ("held", "undecided", "WRITE")
    assert (intent["span"], intent["call_id"], intent["arguments"]) == ([0, LB], "c1", {"name": "b"})
    again = writer.post(call(0, LB, "put"))
    assert (again.status_code, again.json()) == (200, intent)
    shown = front.client.get(f"{writer.path}/intents/{intent['intent_id']}")
    assert (shown.status_code, shown.json()) == (200, intent)


def test_a_decided_block_needs_no_round(front: Front) -> None:
    writer = drafted(front, B)
    body = call(0, LB, "put")
    body.pop("round")
    assert problem(writer.post(body)) == (409, "wrong_round")
    writer.rule(LB)
    answer = writer.post(body)
    assert (answer.status_code, answer.json()["state"]) == (202, "released")


def test_detected_calls_only_take_a_call_id(front: Front) -> None:
    writer = front.open(source="detected")
    writer.draft(B)
    answer = writer.post(call(0, LB, "put", call_id="c9"))
    assert (answer.status_code, answer.json()["call_id"]) == (200, "c9")


def test_an_ended_stream_still_takes_cleared_blocks(front: Front) -> None:
    writer = drafted(front, B)
    writer.rule(LB)
    writer.finish("stop")
    assert writer.post(call(0, LB, "put")).status_code == 202
    broken = drafted(front, B)
    broken.rule(LB)
    broken.finish("error")
    assert problem(broken.post(call(0, LB, "put"))) == (409, "stream_finished")


def test_checks_in_the_order_that_is_promised(front: Front) -> None:
    """Each request breaks a rule and the next one too: the earlier is named."""
    writer = drafted(front, A, B, C)
    a, b, end = (0, LA), (LA, LA + LB), LA + LB + LC
    assert writer.post(call(*a, "get")).status_code == 202
    assert writer.post(call(*b, "put")).status_code == 202

    def refused(body: Body) -> str:
        rows = front.rows()
        code = problem(writer.post(body))[1]
        assert front.rows() == rows
        return code

    assert refused(call(b[0], b[0], "put", round=7)) == "invalid_request"
    assert refused(call(3, 2, "put", round=7)) == "invalid_request"
    assert refused(call(1, end + 1, "put", round=7)) == "wrong_round"
    assert refused(call(1, end + 1, "put")) == "span_not_drafted"
    assert refused(call(1, LA, "get")) == "span_overlap"
    assert refused(call(*b, "put", ordinal=1, arguments={})) == "diverges_from_tokens"
    writer.finish("error")
    assert refused(call(1, end + 1, "put", round=7)) == "stream_finished"
    assert writer.post(call(*b, "put")).status_code == 200


def test_a_call_before_a_living_one_is_out_of_order(front: Front) -> None:
    writer = drafted(front, A, B)
    assert writer.post(call(LA, LA + LB, "put")).status_code == 202
    answer = writer.post(call(0, LA, "get", arguments={"name": "another"}))
    assert problem(answer) == (409, "span_order")


def test_says_that_a_span_may_be_drafted_later(front: Front) -> None:
    answer = drafted(front).post(call(0, LB, "put"))
    assert problem(answer) == (409, "span_not_drafted")
    assert answer.json()["retryable"] is True


def test_names_the_first_field_that_differs(front: Front) -> None:
    writer = drafted(front, B)
    fields = {
        "span": call(1, LB, "put"),
        "ordinal": call(0, LB, "put", ordinal=1),
        "tool": call(0, LB, "get", arguments={}),
        "arguments": call(0, LB, "put", arguments={"name": "b", "more": 1}),
    }
    for field, body in fields.items():
        answer = writer.post(body)
        assert problem(answer) == (422, "diverges_from_tokens")
        assert answer.json()["field"] == field


def test_waiting_ends_when_the_intent_comes_to_rest(front: Front) -> None:
    writer = drafted(front, B)
    path = f"{writer.path}/intents/{writer.post(call(0, LB, 'put')).json()['intent_id']}"
    seen: list[Body] = []
    waiting = threading.Thread(target=lambda: seen.append(front.client.get(path, params={"wait": 30}).json()))
    began = time.monotonic()
    waiting.start()
    short = front.client.get(path, params={"wait": "0.2"})
    assert short.json()["state"] == "held"
    assert not seen
    writer.rule(0, token={"text": "z"})
    waiting.join(20)
    assert 0.2 <= time.monotonic() - began < 20
    assert [intent["state"] for intent in seen] == ["voided"]
    assert front.client.get(path, params={"wait": 30}).json() == seen[0]


def test_waiting_ends_in_doubt(front: Front) -> None:
    key, intent_id = front.in_doubt()
    began = time.monotonic()
    answer = front.client.get(
        f"/v1/streams/{key}/intents/{intent_id}", params={"wait": 30, "provisional": "true"}
    )
    assert answer.json()["state"] == "in_doubt"
    assert time.monotonic() - began < 10


def test_waiting_ends_with_the_server(front: Front) -> None:
    writer = drafted(front, B)
    path = f"{writer.path}/intents/{writer.post(call(0, LB, 'put')).json()['intent_id']}"
    seen: list[httpx2.Response] = []
    with serving(create_app(front.services, HttpSettings())) as served:
        url = served.url + path
        waiting = threading.Thread(
            target=lambda: seen.append(httpx2.get(url, params={"wait": 30}, timeout=40))
        )
        waiting.start()
        deadline = time.monotonic() + 10
        while not served.server.server_state.tasks:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        began = time.monotonic()
    waiting.join(20)
    assert time.monotonic() - began < 4
    assert [(answer.status_code, answer.json()["state"]) for answer in seen] == [(200, "held")]


def test_many_may_wait_while_others_work(front: Front) -> None:
    """More waiting requests than the front has threads leave room for the one that ends their waiting."""
    writer = drafted(front, B)
    path = f"{writer.path}/intents/{writer.post(call(0, LB, 'put')).json()['intent_id']}"
    states: list[str] = []

    def wait() -> None:
        states.append(front.client.get(path, params={"wait": 30}).json()["state"])

    waiting = [threading.Thread(target=wait) for _ in range(80)]
    for thread in waiting:
        thread.start()
    writer.rule(0, token={"text": "z"})
    for thread in waiting:
        thread.join(25)
    assert states == ["voided"] * 80
