"""Nothing that a test run has started outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_A_RUN = """\
import sys, time
from pathlib import Path
from tests.apiserver.processes import start
child = start("sleeper", [sys.executable, "-c", "import time; time.sleep(600)"], Path(sys.argv[1]) / "log")
print(child.process.pid, flush=True)
time.sleep(600)
"""
_A_RUN_WITH_SERVERS = """\
import sys, time
from pathlib import Path
from tests.apiserver.binaries import build
from tests.apiserver.clusters import RealClusters
clusters = RealClusters(build(), Path(sys.argv[1]))
clusters.start("edge-01")
print(*clusters.processes().values(), flush=True)
time.sleep(600)
"""


def _killed(program: str, folder: Path) -> list[int]:
    """Process ids that the program has told of, after it was killed."""
    run = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    told = [int(pid) for pid in run.stdout.readline().split()]
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()
    return told


def _run_still(pids: list[int], within: float) -> list[int]:
    end = time.monotonic() + within
    while (left := [pid for pid in pids if _runs(pid)]) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_a_process_dies_with_a_run_that_is_killed(tmp_path: Path) -> None:
    pids = _killed(_A_RUN, tmp_path)
    assert len(pids) == 1
    assert _run_still(pids, within=5) == []


@pytest.mark.apiserver
@pytest.mark.usefixtures("real_clusters")
def test_etcd_and_the_api_servers_die_with_a_run_that_is_killed(tmp_path: Path) -> None:
    pids = _killed(_A_RUN_WITH_SERVERS, tmp_path)
    assert len(pids) == 2
    assert _run_still(pids, within=5) == []
