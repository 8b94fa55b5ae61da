"""The real program as a process, against a fleet behind the real gateway."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gitops_mc.adapters.system import ScaledClock
from gitops_mc.cli.program import run
from gitops_mc.cli.terminal import Terminal
from gitops_mc.sandbox.fleet import SandboxFleet, simple_fleet
from gitops_mc.sandbox.gateway import start, write_kubeconfig
from gitops_mc.sandbox.running import run_in_thread

ROOT = Path.cwd()
PROGRAM = (sys.executable, "-m", "gitops_mc.cli")


@dataclass(frozen=True)
class Ended:
    """How a run of the program ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Place:
    """Where the program is run: its environment, and the fleet it reaches."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    fleet: SandboxFleet | None = None
    kubeconfig: Path | None = None

    def run(self, *arguments: str, **environment: str) -> Ended:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            env={**plain_environment(), **self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=self.folder,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def here(self, *arguments: str) -> Ended:
        """The same in this process, which is faster; the caller sees to working folder and environment."""
        out, err = io.StringIO(), io.StringIO()
        code = run(arguments, terminal=Terminal(out, err))
        return Ended(code, out.getvalue(), err.getvalue())

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")


def plain_environment() -> dict[str, str]:
    """Ours, without what would reach another fleet, and with this checkout to import from."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GITOPS_MC_", "NO_COLOR"))}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


@contextmanager
def running_fleet(folder: Path, *clusters: str) -> Iterator[Place]:
    """A fleet of these clusters behind a gateway; time runs fast in it."""
    clock = ScaledClock(60)
    fleet = SandboxFleet(simple_fleet(*clusters), clock.now)
    stop = threading.Event()
    thread = run_in_thread(fleet, clock, stop)
    gateway = start(fleet.servers)
    folder.mkdir(parents=True, exist_ok=True)
    tokens = folder / "token"
    tokens.write_text(fleet.token)
    (folder / "reader").write_text(fleet.reader_token)
    kubeconfig = folder / "kubeconfig"
    write_kubeconfig(kubeconfig, gateway.url, ("global", *clusters), fleet.token)
    environment = {"GITOPS_MC_GATEWAY": gateway.url, "GITOPS_MC_TOKEN_FILE": str(tokens)}
    try:
        yield Place(folder, environment, fleet, kubeconfig)
    finally:
        stop.set()
        thread.join(5)
        gateway.stop()


@contextmanager
def watching(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`validate --watch`, for half a minute at most; killed at the end if it still runs."""
    process = subprocess.Popen(
        [*PROGRAM, "validate", "--watch", *arguments],
        cwd=folder,
        env=plain_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = threading.Timer(30, process.kill)
    limit.start()
    try:
        yield process
    finally:
        limit.cancel()
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str], word: str) -> str:
    """The next line of standard output with this word."""
    assert process.stdout is not None
    for line in process.stdout:
        if word in line:
            return line
    raise AssertionError(f"the program ended before it said {word}")
