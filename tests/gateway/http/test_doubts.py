from tests.gateway.http.front import Front, problem


def test_lists_and_settles_a_doubt_once(front: Front) -> None:
    key, intent_id = front.in_doubt()
    listed = front.client.get("/v1/doubts").json()["doubts"]
    assert [(i["commit_key"], i["state"]) for i in listed if i["intent_id"] == intent_id] == [
        (key, "in_doubt")
    ]
    path = f"/v1/doubts/{key}/{intent_id}"
    answer = front.client.post(
        path, json={"as": "happened", "reason": "it is in the shop's log", "evidence": [1]}
    )
    assert answer.status_code == 200
    intent = answer.json()
    assert (intent["state"], intent["final"], intent["result"]["status"]) == (
        "settled",
        True,
        "happened_unknown_result",
    )
    assert intent_id not in [i["intent_id"] for i in front.client.get("/v1/doubts").json()["doubts"]]
    rows = front.rows()
    again = front.client.post(path, json={"as": "not_happened", "reason": "no, it did not"})
    assert problem(again) == (409, "not_in_doubt")
    assert front.rows() == rows


def test_a_precondition_is_not_ignored(front: Front) -> None:
    key, intent_id = front.in_doubt()
    answer = front.client.post(
        f"/v1/doubts/{key}/{intent_id}", json={"as": "happened", "reason": "r"}, headers={"If-Match": '"1"'}
    )
    assert problem(answer) == (422, "not_supported")
