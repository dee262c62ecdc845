from typing import Any

from tests.gateway.http.front import TABLE, Front, problem

YAML = {"Content-Type": "application/yaml"}


def table(effect: str) -> dict[str, Any]:
    return {"tools": {"put": {**TABLE["tools"]["put"], "effect": effect}}}


def test_a_table_comes_as_json_or_yaml(front: Front) -> None:
    shown = front.client.get("/v1/effects")
    applied = front.client.post("/v1/effects", json=TABLE)
    assert (applied.status_code, applied.json(), applied.headers["ETag"]) == (
        200,
        shown.json(),
        shown.headers["ETag"],
    )
    text = (
        "tools:\n"
        "  put: {effect: WRITE, writes: ['thing:{name}'], upstream: {http: 'http://127.0.0.1:9/put'}}\n"
        "  pay: {effect: WRITE, writes: ['purse:{name}'], approval: required, upstream: {http: 'http://127.0.0.1:9/pay'}}\n"
        "  get: {effect: READ_ONLY, reads: ['thing:{name}'], upstream: {http: 'http://127.0.0.1:9/get'}}\n"
    )
    as_yaml = front.client.post("/v1/effects", content=text, headers=YAML)
    assert as_yaml.json()["digest"] == shown.json()["digest"]


def test_json_text_is_not_read_as_yaml(front: Front) -> None:
    raw = '{"tools": {"caf\\u00e9\\ud83d\\ude00":\t{"effect": "WRITE", "upstream": {"http": "http:\\/\\/a\\/b"}}}}'
    answer = front.client.post("/v1/effects", content=raw, headers={"Content-Type": "application/json"})
    assert list(answer.json()["table"]["tools"]) == ["café😀"]


def test_the_version_is_the_etag(front: Front) -> None:
    before = front.client.get("/v1/effects")
    assert before.headers["ETag"] == f'"{before.json()["version"]}"'
    match = {"If-Match": f'"x", {before.headers["ETag"]}'}
    after = front.client.post("/v1/effects", json=table("IDEMPOTENT"), headers=match)
    assert after.status_code == 200
    assert after.json()["version"] == before.json()["version"] + 1
    rows = front.rows()
    for tag in (before.headers["ETag"], "W/" + after.headers["ETag"]):
        refused = front.client.post("/v1/effects", json=table("WRITE"), headers={"If-Match": tag})
        assert problem(refused) == (412, "precondition_failed")
    nonsense = front.client.post("/v1/effects", json=table("WRITE"), headers={"If-Match": "7"})
    assert problem(nonsense) == (422, "invalid_request")
    assert front.rows() == rows
    assert front.client.post("/v1/effects", json=table("WRITE"), headers={"If-Match": "*"}).status_code == 200


def test_a_refused_table_says_where(front: Front) -> None:
    answer = front.client.post("/v1/effects", json=table("SOMETIMES"))
    assert problem(answer) == (422, "invalid_effects")
    assert answer.json()["path"] == "tools.put.effect"
    far = {"tools": {"put": {**TABLE["tools"]["put"], "schema": {"$ref": "http://127.0.0.1:9/schema"}}}}
    refused = front.client.post("/v1/effects", json=far)
    assert problem(refused) == (422, "invalid_effects")
    assert refused.json()["path"] == "tools.put.schema"
