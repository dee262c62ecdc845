"""Python functions in processes of their own: what all adapters do, and what is theirs."""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from effects.classes import EffectClass
from effects.intent import ResultStatus
from effects.secrets import Reference
from effects.upstream import Upstream
from gateway.turn.dispatching import Assignment
from gateway.upstream.callables.adapter import CallablesUpstream
from gateway.upstream.callables.process import LONGEST_MESSAGE
from gateway.upstream.overheard import LONGEST_LINE
from gateway.upstream.port import Answered, Layer, MaybeSent, NotSent
from tests.gateway.toolserver import eventually
from tests.gateway.upstream.calls import assignment
from tests.gateway.upstream.folder_bench import FolderBench
from tests.gateway.upstream.running import Running
from tests.gateway.upstream.suite import UpstreamSuite

MODULE = "tests.gateway.upstream.python_tool"


class CallableBench(FolderBench):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.renew()

    def call(
        self, effect: EffectClass = EffectClass.WRITE, function: str = "tool", **told: Any
    ) -> Assignment:
        upstream = Upstream(python=f"{MODULE}:{function}", env={"TOOL_FOLDER": str(self.folder)})
        return assignment(effect=effect, upstream=upstream, **told)

    def unreachable(self, effect: EffectClass) -> Assignment:
        return assignment(effect=effect, upstream=Upstream(python="no.such_module:function"))

    def does_fail_in_protocol(self) -> None:
        self.does_answer({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no such tool"}})

    def said(self, content: object) -> object:
        if isinstance(content, dict) and content.get("error") == "LookupError":
            return json.loads(content["message"])
        return content

    def carried(self) -> dict[str, str | None]:
        carried: dict[str, str | None] = self.log()[-1]["carried"]
        return carried


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> CallableBench:
    return CallableBench(tmp_path_factory.mktemp("tool"))


@pytest.fixture
def bench(one: CallableBench) -> CallableBench:
    one.renew()
    return one


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with Running(CallablesUpstream()) as runs:
        yield runs


class TestCallables(UpstreamSuite):
    """All that every adapter must do."""


def test_a_process_lives_on_from_call_to_call_and_takes_one_at_a_time(
    bench: CallableBench, running: Running
) -> None:
    running.close_upstream()
    for _ in range(3):
        running.send(bench.call())
    assert len({line["pid"] for line in bench.log()}) == 1
    bench.does_hold({})
    held = running.start(bench.call())
    eventually(lambda: len(bench.received()) == 4)
    bench.does_answer({})
    assert isinstance(running.send(bench.call()), Answered)
    bench.release()
    assert isinstance(held.result(10), Answered)
    assert len({line["pid"] for line in bench.log()[-2:]}) == 2


def test_what_dies_between_two_calls_costs_the_next_one_nothing(
    bench: CallableBench, running: Running
) -> None:
    running.send(bench.call())
    pid = bench.log()[-1]["pid"]
    os.kill(pid, 9)
    eventually(lambda: not Path(f"/proc/{pid}").exists())
    reply = running.send(bench.call())
    assert isinstance(reply, Answered) or reply == NotSent("process_ended")
    assert len(bench.received()) == 1 + isinstance(reply, Answered)


def test_a_read_that_nobody_awaits_any_more_is_ended(bench: CallableBench, running: Running) -> None:
    bench.does_hold({})
    assert running.send(bench.call(EffectClass.READ_ONLY), timeout=1.0) == MaybeSent("timeout")
    pid = bench.log()[-1]["pid"]
    eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_an_effect_that_nobody_awaits_any_more_ends_after_a_while(tmp_path: Path) -> None:
    bench = CallableBench(tmp_path)
    with Running(CallablesUpstream(linger=0.1)) as running:
        bench.does_answer({})
        running.send(bench.call())
        bench.does_hold({})
        assert running.send(bench.call(), timeout=0.3) == MaybeSent("timeout")
        pid = bench.log()[-1]["pid"]
        eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_no_more_processes_than_there_are_places(tmp_path: Path) -> None:
    bench = CallableBench(tmp_path)
    with Running(CallablesUpstream(size=1)) as running:
        running.send(bench.call())
        bench.does_hold({"n": 1})
        held = running.start(bench.call())
        eventually(lambda: len(bench.received()) == 2)
        reply = running.send(bench.call(timeout=0.4))
        assert reply == NotSent("open_timeout")
        assert len(bench.received()) == 2
        bench.release()
        assert held.result(10) == Answered(ResultStatus.OK, {"n": 1})


def test_a_module_that_loads_longer_than_a_call_waits_is_ready_for_a_later_one(tmp_path: Path) -> None:
    bench = CallableBench(tmp_path)
    upstream = Upstream(
        python="tests.gateway.upstream.slow_python_tool:tool", env={"TOOL_FOLDER": str(tmp_path)}
    )
    call = assignment(effect=EffectClass.WRITE, upstream=upstream, timeout=0.4)
    with Running(CallablesUpstream(size=2)) as running:
        assert running.send(call) == NotSent("open_timeout")
        assert running.send(call) == NotSent("open_timeout")
        [loading] = eventually(lambda: list(tmp_path.glob("loading-*")))
        bench.release()
        eventually(lambda: isinstance(running.send(call), Answered))
        assert [loading] == list(tmp_path.glob("loading-*"))
        assert {f"loading-{line['pid']}" for line in bench.log()} == {loading.name}


def test_a_process_that_loads_is_ended_with_the_others(tmp_path: Path) -> None:
    upstream = Upstream(
        python="tests.gateway.upstream.slow_python_tool:tool", env={"TOOL_FOLDER": str(tmp_path)}
    )
    with Running(CallablesUpstream()) as running:
        call = assignment(effect=EffectClass.WRITE, upstream=upstream, timeout=0.4)
        assert running.send(call) == NotSent("open_timeout")
        [loading] = eventually(lambda: list(tmp_path.glob("loading-*")))
    pid = loading.name.partition("-")[2]
    eventually(lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.parametrize("function", ["no_such", "NO_FUNCTION", "tool.no_such"])
def test_a_function_that_is_not_there_is_not_sent_and_not_tried_again(
    bench: CallableBench, running: Running, function: str
) -> None:
    reply = running.send(bench.call(function=function))
    assert isinstance(reply, NotSent)
    assert (reply.because, reply.lasting) == ("function_not_loaded", True)


def test_a_coroutine_function_is_awaited(bench: CallableBench, running: Running) -> None:
    assert running.send(bench.call(function="later", arguments='{"n": 3}')) == Answered(
        ResultStatus.OK, {"n": 3}
    )


def test_arguments_that_it_does_not_take_are_its_refusal(bench: CallableBench, running: Running) -> None:
    reply = running.send(bench.call(function="later", arguments='{"m": 3}'))
    assert isinstance(reply, Answered)
    assert (reply.status, reply.layer) == (ResultStatus.TOOL_ERROR, Layer.TOOL)


def test_leaving_the_process_is_no_answer(bench: CallableBench, running: Running) -> None:
    assert running.send(bench.call(function="leave")) == MaybeSent("process_ended")


def test_secrets_are_handed_on_by_reference_and_the_ledger_does_not_see_them(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET", "swordfish-1")
    monkeypatch.setenv("PGPASSWORD", "hidden")
    monkeypatch.setenv("COMMITGATE_HOME", "/nowhere")
    upstream = Upstream(python=f"{MODULE}:tell", env={"TOOL_SECRET": Reference(env="MY_SECRET")})
    reply = running.send(assignment(effect=EffectClass.READ_ONLY, upstream=upstream))
    assert reply == Answered(
        ResultStatus.OK, {"TOOL_SECRET": "[secret]", "COMMITGATE_HOME": None, "PGPASSWORD": None}
    )


def test_a_function_that_died_printed_its_secret_to_the_gateways_standard_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_SECRET", "swordfish-1")
    upstream = Upstream(python=f"{MODULE}:blurt", env={"TOOL_SECRET": Reference(env="MY_SECRET")})
    call = assignment(effect=EffectClass.WRITE, upstream=upstream, arguments='{"lines": 3}')
    with capture_logs() as lines, Running(CallablesUpstream()) as running:
        assert running.send(call) == MaybeSent("process_ended")
        said = eventually(lambda: [told for line in lines if "Collapse: " in (told := str(line.get("line")))])
    assert said == ["tests.gateway.upstream.python_tool.Collapse: no access with [secret]"]
    heard = [str(line["line"]) for line in lines if line["event"] == "function_said"]
    assert heard.count("I know [secret]") == 3
    assert max(map(len, heard)) == LONGEST_LINE
    assert "swordfish" not in str(lines)
    assert "swordfish" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(("before", "limit"), [(1990, 1 << 20), (1 << 16, 1 << 20), ((1 << 16) - 6, 100)])
def test_what_a_function_raises_is_cut_behind_the_hiding_of_its_secret(
    running: Running, monkeypatch: pytest.MonkeyPatch, before: int, limit: int
) -> None:
    monkeypatch.setenv("MY_SECRET", "swordfish-1")
    upstream = Upstream(python=f"{MODULE}:lament", env={"TOOL_SECRET": Reference(env="MY_SECRET")})
    arguments = f'{{"before": {before}}}'
    call = assignment(effect=EffectClass.READ_ONLY, upstream=upstream, arguments=arguments, max_result=limit)
    reply = running.send(call)
    assert isinstance(reply, Answered)
    assert (reply.status, reply.layer) == (ResultStatus.TOOL_ERROR, Layer.TOOL)
    assert isinstance(reply.content, dict)
    if limit == 100:
        kept = base64.b64decode(reply.content["raw_base64"])
    else:
        kept = reply.content["message"].encode()
        assert reply.content["error"] == "ValueError"
        assert len(kept) == LONGEST_MESSAGE
    assert b"sword" not in kept


def test_what_a_module_raises_when_it_is_loaded_is_cut_behind_the_hiding_of_its_secret(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET", "swordfish-1")
    module = "tests.gateway.upstream.broken_python_tool"
    upstream = Upstream(python=f"{module}:tool", env={"TOOL_SECRET": Reference(env="MY_SECRET")})
    reply = running.send(assignment(effect=EffectClass.READ_ONLY, upstream=upstream))
    assert isinstance(reply, NotSent)
    assert reply.because == "function_not_loaded"
    assert reply.detail is not None
    assert reply.detail.endswith("x[secret]")
    assert len(reply.detail) == LONGEST_MESSAGE


def test_a_variable_that_is_not_there_means_not_sent(running: Running) -> None:
    upstream = Upstream(python=f"{MODULE}:tell", env={"TOOL_SECRET": Reference(env="NO_SUCH_VARIABLE")})
    reply = running.send(assignment(effect=EffectClass.READ_ONLY, upstream=upstream))
    assert isinstance(reply, NotSent)
    assert reply.because == "secret_missing"
