"""What memory and processor `gitops-mc controller` takes: deploy/base/deployment.yaml asks for as much.

The controller is a process of its own, as its container runs it; the embedded fleet is this one, on real time, with nodes of which
none reboots. Memory is that of the process and of the git that it calls, what they share counted once; processor time, too. Both are
read from /proc twice a second. Where the process ends because it lost its lease (the fleet shares this machine's processors with
it), it is started again, as the kubelet would, and that is counted.

.venv/bin/python bench/resources.py [CLUSTERS ...]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from controller import PAUSE, Bench, _objects, free_port, git

from gitops_mc.adapters.system import SystemClock
from gitops_mc.sandbox.options import SandboxOptions
from gitops_mc.sandbox.serving import serve

CONFIGS, BYTES = 3, 4096
"""Of each cluster: so many MachineConfigs, each with a file of so many bytes."""
IDLE = 120.0
"""Seconds that nothing is pushed."""
PATIENCE = 3600.0
FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
spec:
  rollout:
    waves: [{name: all, clusters: {}, maxConcurrent: 25%}]
  gates:
    pool: {settle: 5s}
"""
_TICKS = os.sysconf("SC_CLK_TCK")
_HEAD = (
    "clusters",
    "phase",
    "seconds",
    "CPU seconds",
    "of one CPU",
    "busiest 10 s",
    "MiB at its end",
    "MiB at most",
    "starts so far",
)


@dataclass
class Watched:
    """A process, and what it has taken so far."""

    command: list[str]
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)
    seconds: list[tuple[float, float]] = field(default_factory=list)
    mib: list[float] = field(default_factory=list)
    ended: float = 0.0
    """Processor time of those that have ended."""
    starts: int = 0

    def start(self) -> None:
        self.starts += 1
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stderr=log)

    def look(self) -> None:
        if self.process.poll() is not None:
            self.ended = self.seconds[-1][1]
            self.start()
        pid = self.process.pid
        self.seconds.append((time.monotonic(), self.ended + _cpu(pid)))
        self.mib.append(sum(map(_pss, (pid, *_children(pid)))))

    def row(self, since: float) -> tuple[str, ...]:
        kept = [(at, cpu) for at, cpu in self.seconds if at >= since]
        (begun, first), (ended, last) = kept[0], kept[-1]
        spans = [
            (later[1] - earlier[1]) / (later[0] - earlier[0])
            for n, earlier in enumerate(kept)
            for later in [next((k for k in kept[n:] if k[0] >= earlier[0] + 10), None)]
            if later is not None
        ]
        mib = self.mib[-len(kept) :]
        return (
            f"{ended - begun:.0f}",
            f"{last - first:.1f}",
            f"{(last - first) / (ended - begun):.3f}",
            f"{max(spans, default=0.0):.2f}",
            f"{mib[-1]:.0f}",
            f"{max(mib):.0f}",
            f"{self.starts}",
        )


def _cpu(pid: int) -> float:
    """Its own, and that of its children that have ended."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, stat[11:15])) / _TICKS


def _pss(pid: int) -> float:
    """Resident MiB, what is shared with others divided by their number."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def _children(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            yield from map(int, task.read_text().split())
        except OSError:
            continue


def push(bench: Bench, number: int) -> None:
    (bench.repository / "fleet.yaml").write_text(FLEET)
    for name in bench.serving.clusters:
        if name != "global":
            for config in range(CONFIGS):
                file = bench.repository / "clusters" / name / f"{config}.yaml"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(_manifest(config, f"{name} {number}\n".ljust(BYTES, ".")))
    git(bench.repository, "add", "-A")
    git(bench.repository, "commit", "-q", "-m", f"round {number}")


def _manifest(config: int, text: str) -> str:
    """A file whose change reboots nobody."""
    return f"""\
apiVersion: machineconfiguration.alauda.io/v1alpha1
kind: MachineConfig
metadata:
  name: 50-worker-app-{config}
  labels: {{machineconfiguration.alauda.io/role: worker}}
spec:
  config:
    ignition: {{version: 3.4.0}}
    storage:
      files:
        - path: /etc/app/{config}.conf
          mode: 0644
          contents: {{source: "data:;base64,{b64encode(text.encode()).decode()}"}}
"""


@contextmanager
def running(bench: Bench, folder: Path) -> Iterator[Watched]:
    command = [sys.executable, "-m", "gitops_mc.cli", "controller", f"--gateway={bench.serving.url}"]
    command += [f"--token-file={bench.serving.token_file}", f"--cache={folder / 'cache'}"]
    command += [
        f"--probes=127.0.0.1:{free_port()}",
        f"--webhook=127.0.0.1:{free_port()}",
        "--allow-unprotected-git",
    ]
    (folder / "cache").mkdir()
    watched = Watched(command, folder / "log")
    watched.start()
    try:
        yield watched
    finally:
        watched.process.terminate()
        watched.process.wait(30)


def until(watched: Watched, so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not so():
        if time.monotonic() > end:
            raise SystemExit(f"not within {PATIENCE:.0f} seconds")
        watched.look()
        PAUSE.wait(0.5)


def measured(clusters: int) -> Iterator[tuple[str, ...]]:
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="gitops-mc-bench-") as name:
        folder = Path(name)
        serving = serve(SandboxOptions(clusters=clusters, nodes=3), SystemClock(stop), 1.0, folder, stop)
        bench = Bench(serving, folder / "repository", "")
        bench.repository.mkdir()
        git(bench.repository, "init", "-q", "-b", "main")
        push(bench, 0)
        _objects(bench, 60)
        with running(bench, folder) as watched:
            for phase in (
                "the first commit, to every cluster",
                "nothing is pushed",
                "a commit, to every cluster",
            ):
                since = time.monotonic()
                if phase == "nothing is pushed":
                    until(watched, lambda since=since: time.monotonic() > since + IDLE)  # type: ignore[misc]
                else:
                    if phase == "a commit, to every cluster":
                        push(bench, 1)
                    until(watched, bench.passed)
                yield (str(clusters), phase, *watched.row(since))
        serving.stop()


def main() -> None:
    print(" | ".join(_HEAD))
    for clusters in map(int, sys.argv[1:] or ("50", "300")):
        for row in measured(clusters):
            print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
