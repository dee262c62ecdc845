"""The tools' world: one log for any number of processes, and what is known of those who write it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.children import Children
from tests.crash.world import ACTED, DIES_AT, LOG, PRESENT, RECEIVED, Present, World, read_log
from tests.processes import ROOT

_MEETS = """
import sys
from pathlib import Path
from tests.crash.world import World
World(Path(sys.argv[1])).meet("tool_acted")
"""


def act(world: World, tool: str, once: str) -> int:
    return world.act(intent_id=once, commit_key="k", tool=tool, key="a", nth=0, idempotency_key=once)


def test_whoever_acts_has_seen_what_others_did(tmp_path: Path) -> None:
    one, other = World(tmp_path), World(tmp_path)
    assert [act(one, "write", "1"), act(other, "write", "2"), act(one, "put", "3")] == [1, 2, 3]
    assert act(other, "put", "3") == 3
    assert act(World(tmp_path), "read", "4") == 3
    assert [line["replayed"] for line in read_log(tmp_path)] == [False, False, False, True, False]


def test_a_line_that_a_kill_cut_never_was(tmp_path: Path) -> None:
    world = World(tmp_path)
    act(world, "write", "1")
    with (tmp_path / LOG).open("ab") as log:
        log.write(b'{"line": "acted", "inte')
    assert act(world, "write", "2") == 2
    assert len(read_log(tmp_path)) == 2


def test_the_nth_of_all_processes_dies(tmp_path: Path) -> None:
    def meets() -> int:
        return subprocess.run([sys.executable, "-S", "-c", _MEETS, str(tmp_path)], cwd=ROOT).returncode

    (tmp_path / DIES_AT).write_text(f"{RECEIVED}:1")
    assert meets() == 0
    (tmp_path / DIES_AT).write_text(f"{ACTED}:2")
    assert [meets(), meets(), meets()] == [0, -signal.SIGKILL, 0]


def test_it_is_quiet_once_orphans_ended_and_nobody_is_busy(tmp_path: Path) -> None:
    Children(tmp_path, set).quiet(within=0)
    present = Present(tmp_path)
    mine = Children(tmp_path, lambda: {os.getppid()})
    mine.quiet(within=0)
    with present.busy(), pytest.raises(AssertionError):
        mine.quiet(within=0)
    mine.quiet(within=0)
    with pytest.raises(AssertionError):
        Children(tmp_path, set).quiet(within=0)
    # Somebody of a dispatcher that is gone, and is gone itself.
    ended = subprocess.run([sys.executable, "-S", "-c", "import os; print(os.getpid())"], capture_output=True)
    (tmp_path / PRESENT / f"{int(ended.stdout)}-1").touch()
    mine.quiet(within=0)


def test_who_hits_nobody_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Present(tmp_path)
    others = Children(tmp_path, set)
    monkeypatch.setattr("tests.crash.children.STARTING", 0.0)
    with pytest.raises(AssertionError):
        others.kill()
