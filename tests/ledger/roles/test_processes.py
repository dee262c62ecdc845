"""The real processes, each under a login of its own duties: a call goes from its drafts to the answer between them."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from ledger.access.duty import Duty
from tests import processes
from tests.commands import Commands
from tests.gateway.toolserver import ToolServer, eventually
from tests.ledger.roles.logins import login
from tests.scenarios.conftest import client_of

Environs = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def environs(module_database, tmp_path_factory) -> Iterator[Environs]:
    """The environment of each process; only the logins differ."""
    home = str(tmp_path_factory.mktemp("home"))
    duties = {
        "gateway": (Duty.WRITER, Duty.SEALER),
        "worker": (Duty.DISPATCHER,),
        "reconcile": (Duty.RECONCILER,),
        "redactor": (Duty.REDACTOR,),
        "migrator": (Duty.MIGRATOR,),
    }
    with ExitStack() as stack:
        logins = {
            name: stack.enter_context(login(module_database, *(duty.role for duty in held)))
            for name, held in duties.items()
        }
        yield {
            name: {
                "COMMITGATE_DATABASE_URL": one.url,
                "COMMITGATE_HOME": home,
                "COMMITGATE_SEAL": "false" if name == "worker" else "true",
            }
            for name, one in logins.items()
        }


CALL = '<tool_call>{"name": "write", "arguments": {"n": 1}}</tool_call>'


def test_a_call_between_processes_that_hold_one_duty_each(
    environs: Environs, commitgate: Commands, tmp_path: Path
):
    with ToolServer() as tools, processes.dispatcher(tmp_path, environs["worker"]) as worker:
        with client_of(processes.gateway(tmp_path, environs["gateway"], "--no-dispatch")) as client:
            assert client.get("/readyz").status_code == 200
            table = f'tools:\n  write: {{effect: WRITE, upstream: {{http: "{tools.url}/write"}}}}\n'
            yaml = {"Content-Type": "application/yaml"}
            assert client.post("/v1/effects", content=table, headers=yaml).status_code == 200
            opened = client.post(
                "/v1/streams",
                json={"commit_key": "turn", "tool_calls": {"format": "hermes", "from": "detected"}},
            )
            events = [
                {"type": "tokens.drafted", "round": 0, "start": 0, "tokens": [{"text": CALL}]},
                {"type": "tokens.ruled", "round": 0, "start": 0, "end": 1, "accepted": 1},
                {"type": "stream.finished", "reason": "stop"},
            ]
            body = {"writer_epoch": opened.json()["writer_epoch"], "batch_id": "b", "events": events}
            assert client.post("/v1/streams/turn/events", json=body).status_code == 201
            assert client.post("/v1/streams/turn/events", json=body).status_code == 200
            final = eventually(lambda: _final(client))
            assert final["result"]["status"] == "ok"
            eventually(lambda: client.get("/v1/ledger/checkpoint").status_code == 200)
        assert worker.end() == 0
        assert len(tools.received("/write")) == 1
    done = commitgate.run("reconcile", "run", environ=environs["reconcile"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert commitgate.run("ledger", "rebuild", "--check", environ=environs["reconcile"]).returncode == 0
    assert commitgate.run("ledger", "rebuild", environ=environs["gateway"]).returncode == 0


def _final(client: httpx2.Client) -> dict[str, object] | None:
    [intent] = client.get("/v1/streams/turn").json()["intents"]
    return intent if intent["final"] else None


@pytest.mark.parametrize(
    ("login_of", "arguments", "code"),
    [
        ("gateway", ("worker",), "missing_database_privileges"),
        ("gateway", ("serve", "--port", "0"), "missing_database_privileges"),
        ("worker", ("serve", "--port", "0", "--no-dispatch"), "missing_database_privileges"),
        ("reconcile", ("worker",), "missing_database_privileges"),
        ("reconcile", ("ledger", "rebuild"), "missing_database_privileges"),
        ("redactor", ("serve", "--port", "0"), "unsafe_database_login"),
        ("redactor", ("worker",), "unsafe_database_login"),
        ("migrator", ("worker",), "unsafe_database_login"),
        ("migrator", ("reconcile", "run"), "unsafe_database_login"),
        ("reconcile", ("db", "auditors", "list"), "database_error"),
    ],
)
def test_a_process_does_not_start_under_a_login_of_another_duty(
    environs: Environs, commitgate: Commands, login_of, arguments, code
):
    done = commitgate.run(*arguments, environ=environs[login_of])
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"error: {code}: " in done.stderr
    assert "Traceback" not in done.stderr


def test_where_the_reconciler_has_a_login_of_its_own_it_is_used(environs: Environs, commitgate: Commands):
    separate = {
        **environs["gateway"],
        "COMMITGATE_RECONCILIATION_DATABASE_URL": environs["reconcile"]["COMMITGATE_DATABASE_URL"],
    }
    done = commitgate.run("reconcile", "run", "--format", "json", environ=separate)
    assert done.returncode == 0, done.stderr
    assert "summary" in json.loads(done.stdout.splitlines()[-1])
