"""Nothing that a test run has started outlives it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.apiserver.processes import Child, PortTakenError, free_port, on_free_ports, start

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


_LISTENER = """\
import socket, sys, time
listening = socket.socket()
listening.bind(("127.0.0.1", int(sys.argv[1])))
listening.listen()
print("listens", flush=True)
time.sleep(600)
"""


def test_what_finds_its_port_taken_is_started_on_another_one(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with socket.create_server(("127.0.0.1", free_port())) as held:
        ports = iter([held.getsockname()[1], free_port()])

        def up() -> Child:
            child = start("listener", [sys.executable, "-c", _LISTENER, str(next(ports))], log)
            try:
                child.await_ready(lambda: "listens" in log.read_text(), within=30)
            except PortTakenError:
                child.stop()
                raise
            return child

        on_free_ports(up).stop()
    assert next(ports, None) is None


def test_no_port_is_given_out_twice() -> None:
    given = [free_port() for _ in range(200)]
    assert len(set(given)) == len(given)


@pytest.mark.apiserver
@pytest.mark.usefixtures("real_clusters")
def test_etcd_and_the_api_servers_die_with_a_run_that_is_killed(tmp_path: Path) -> None:
    pids = _killed(_A_RUN_WITH_SERVERS, tmp_path)
    assert len(pids) == 2
    assert _run_still(pids, within=5) == []
