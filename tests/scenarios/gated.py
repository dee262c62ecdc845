"""The same stories through the gateway: token events over HTTP, and intents where the runtime posts its calls."""

import json
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, assert_never

import httpx2

from examples.shop.effect_table import effects_yaml
from tests.scenarios.books import response_about
from tests.scenarios.story import Drafted, Finished, Move, Ruled, blocks

Source = Literal["detected", "posted"]
Policy = Literal["hold", "send"]
Body = dict[str, Any]

PATIENCE = 30.0
"""Seconds until an intent that has not come to rest never will."""

_SHIPPED = "reads_behind_writes: send"
_ON_ITS_WAY = frozenset({"released", "dispatched"})


def apply_effects(client: httpx2.Client, origin: str, policy: Policy) -> None:
    """Put the shop's effect table in force for the shop at ``origin``."""
    table = effects_yaml(origin)
    assert table.count(_SHIPPED) == 1
    told = table.replace(_SHIPPED, f"reads_behind_writes: {policy}")
    answer = client.post("/v1/effects", content=told, headers={"Content-Type": "application/yaml"})
    assert answer.status_code == 200, answer.text


class GatedTurn:
    """One turn of a runtime that leaves its calls to the gateway. ``client``: base URL is the gateway's."""

    def __init__(self, client: httpx2.Client, source: Source = "detected") -> None:
        """Open the stream."""
        self._client = client
        self._source = source
        self._accepted: list[str] = []
        self._drafts: list[str] = []
        opened = self._post("", {"tool_calls": {"format": "hermes", "from": source}}, expect=201)
        self.key = str(opened["commit_key"])
        self._epoch = opened["writer_epoch"]

    def play(self, move: Move) -> list[Body]:
        """Tell the gateway the move and let reads that it sends early be answered; every intent after that."""
        self.tell(move)
        return self.without_reads_under_way()

    def tell(self, move: Move) -> list[Body]:
        """Tell the gateway the move; the intents that it changed, as they were in the transaction of the move."""
        match move:
            case Drafted():
                event = {
                    "type": "tokens.drafted",
                    "start": move.start,
                    "tokens": [{"text": t} for t in move.tokens],
                }
                changed = self._write({**event, "round": move.round})
                self._drafts += move.tokens
                return changed + (self._post_closed(move.round) if self._source == "posted" else [])
            case Ruled():
                ruling = {"start": move.start, "end": move.end, "accepted": move.accepted}
                own = {} if move.own is None else {"token": {"text": move.own}}
                self._follow(move)
                return self._write({"type": "tokens.ruled", "round": move.round, **ruling, **own})
            case Finished():
                return self._write({"type": "stream.finished", "reason": "stop"})
            case _:
                assert_never(move)

    def intents(self) -> list[Body]:
        """Every intent of the stream, voided ones too."""
        return list(self._get("")["intents"])

    def living(self, tool: str) -> Body:
        """The intent of this tool that is not voided."""
        (found,) = (i for i in self.intents() if i["tool"] == tool and i["block"] != "voided")
        return dict(found)

    def without_reads_under_way(self) -> list[Body]:
        """Every intent, as soon as no early read is on its way."""
        deadline = time.monotonic() + PATIENCE
        while True:
            intents = self.intents()
            if not any(i["release"] == "early" and i["state"] in _ON_ITS_WAY for i in intents):
                return intents
            assert time.monotonic() < deadline, intents
            time.sleep(0.01)

    def settled(self) -> list[Body]:
        """The intents of the accepted message, each of them final, in order."""
        asked = [i for i in self.intents() if i["block"] == "cleared"]
        got = [self._get(f"/intents/{i['intent_id']}", wait=PATIENCE) for i in asked]
        assert all(i["final"] for i in got), got
        return got

    def events(self) -> list[Body]:
        """Every event of the stream."""
        return list(self._get("/events", limit=1000)["events"])

    def counts(self) -> Counter[str]:
        """How many events there are of each type."""
        return Counter(str(event["type"]) for event in self.events())

    def response(self) -> str:
        """The final response, citing the final answer of the read."""
        result = self.living("get_coupon")["result"]
        if result["status"] == "tool_error":
            assert result["content"]["error"] == "not_found", result
            return response_about(None)
        return response_about(result["content"]["percent"])

    def _follow(self, move: Ruled) -> None:
        judged = move.end - move.start
        self._accepted += self._drafts[: move.accepted]
        self._drafts = [] if move.accepted < judged else self._drafts[judged:]
        self._accepted += [] if move.own is None else [move.own]

    def _write(self, event: Mapping[str, object]) -> list[Body]:
        told = self._post(f"/{self.key}/events", {"writer_epoch": self._epoch, "events": [event]}, expect=201)
        return list(told["intents"])

    def _post_closed(self, round_: int) -> list[Body]:
        """Post each call whose closing delimiter was just drafted, as a runtime that parses its own stream."""
        posted = []
        for block in blocks(self._accepted + self._drafts):
            (call,) = block.calls
            if block.end > len(self._accepted):
                arguments = json.loads(call.arguments_raw or "{}")
                body = {
                    "round": round_,
                    "span": [block.start, block.end],
                    "tool": call.tool,
                    "arguments": arguments,
                }
                posted.append(self._post(f"/{self.key}/intents", body, expect=202))
        return posted

    def _post(self, path: str, body: Body, *, expect: int) -> Body:
        answer = self._client.post(f"/v1/streams{path}", json=body)
        assert answer.status_code == expect, answer.text
        return dict(answer.json())

    def _get(self, path: str, **query: float) -> Body:
        answer = self._client.get(f"/v1/streams/{self.key}{path}", params=query)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())
