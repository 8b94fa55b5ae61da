"""The real program, ended by SIGKILL at an exact moment, and typed again: the same end, and every node reboots once.

Calls are struck from the gateway: it counts what arrives, and kills the program before a write takes effect, or after
and before it is answered. Saves are struck from within: the program kills itself at a system call of the save.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import pytest

from gitops_mc.adapters.system import ScaledClock
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.errors import UnreachableError
from gitops_mc.core.model import BRACKET_ANNOTATION, JsonObject
from gitops_mc.sandbox.behind import Behind
from gitops_mc.sandbox.fleet import SandboxFleet, simple_fleet
from gitops_mc.sandbox.gateway import SandboxTime, start
from gitops_mc.sandbox.running import run_in_thread
from tests.e2e.program import PROGRAM, Place, plain_environment
from tests.scenarios.crashes import is_dry_run
from tests.scenarios.rollout_world import UNIT, machine_config

SPEED = 240
CONFIGS = {
    "repo/clusters/edge-1/a.yaml": machine_config("50-worker-a", files={"/etc/a": "1\n"}, a_service=UNIT),
    "repo/clusters/edge-1/b.yaml": machine_config("60-worker-b", files={"/etc/b": "1\n"}, b_service=UNIT),
}
WRITES = 4
"""The pool is paused, two configs are written, the pool goes on."""


class Moment(Enum):
    ARRIVES = "before the write takes effect"
    TAKES_EFFECT = "after the write has taken effect, before it is answered"


@dataclass
class Striker:
    """Kills a process at a write that it sends, and answers it nothing. Operators and nodes do not come this way."""

    inner: Transport
    at: int
    moment: Moment
    victim: subprocess.Popen[str] | None = None
    accepted: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if self.victim is None or request.method == "GET" or is_dry_run(request):
            return self.inner.send(cluster, request, timeout=timeout)
        with self.lock:
            if self.accepted == self.at - 1 and self.moment is Moment.ARRIVES:
                self._strike(cluster)
            answer = self.inner.send(cluster, request, timeout=timeout)
            self.accepted += answer.status in {200, 201}
            if self.accepted == self.at:
                self._strike(cluster)
        return answer

    def _strike(self, cluster: str) -> None:
        assert self.victim is not None
        self.victim.send_signal(signal.SIGKILL)
        self.victim.wait()
        self.victim = None
        raise UnreachableError(f"cluster {cluster}: nobody is there to be answered")


@dataclass
class World:
    place: Place
    fleet: SandboxFleet
    striker: Striker

    def begin(self, *program: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*(program or PROGRAM), "apply", "repo", "--yes"],
            env={**plain_environment(), **self.place.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.place.folder,
        )

    def ends_well(self) -> None:
        """Typed again, it goes on, and it all stands as if nothing had happened."""
        told = self.place.run("apply", "repo", "--yes")
        assert told.code == 0, told
        assert self.reboots() == {"edge-1-w1": 1}
        pool = self.get("machineconfigpools", "worker")
        assert not pool["spec"].get("paused")
        assert BRACKET_ANNOTATION not in pool["metadata"].get("annotations", {})
        for name in ("50-worker-a", "60-worker-b"):
            self.get("machineconfigs", name)
        assert self.fleet.failures == ()

    def reboots(self) -> dict[str, int]:
        return {node: n for (_, node), n in self.fleet.reboots().items() if n}

    def get(self, resource: str, name: str) -> JsonObject:
        found = self.fleet.person("edge-1").get(resource, name)
        assert found is not None
        return found


@contextmanager
def world(folder: Path, at: int = 0, moment: Moment = Moment.ARRIVES) -> Iterator[World]:
    stop = threading.Event()
    clock = ScaledClock(SPEED, stop=stop)
    fleet = SandboxFleet(simple_fleet("edge-1", workers=1), clock.now)
    strikers: list[Striker] = []

    def wrap(inner: Transport) -> Transport:
        strikers.append(Striker(inner, at, moment))
        return strikers[0]

    gateway = start(Behind(fleet.servers, wrap), time=SandboxTime(clock.now, SPEED))
    thread = run_in_thread(fleet, clock, stop)
    token = folder / "token"
    token.write_text(fleet.token)
    environment = {"GITOPS_MC_GATEWAY": gateway.url, "GITOPS_MC_TOKEN_FILE": str(token)}
    made = World(Place(folder, environment), fleet, strikers[0])
    made.place.write(CONFIGS)
    try:
        yield made
    finally:
        stop.set()
        gateway.stop()
        thread.join(5)


MOMENTS = [(write, moment) for write in range(1, WRITES + 1) for moment in Moment]


@pytest.mark.parametrize(
    ("write", "moment"),
    [
        pytest.param(w, m, id=f"write {w}, {m.value}", marks=[] if w == 3 else pytest.mark.slow)
        for w, m in MOMENTS
    ],
)
def test_killed_at_a_write_it_goes_on_and_no_node_reboots_twice(
    tmp_path: Path, write: int, moment: Moment
) -> None:
    with world(tmp_path, write, moment) as w:
        process = w.begin()
        w.striker.victim = process
        out, _ = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL, out
        made = write - 1 if moment is Moment.ARRIVES else write
        assert len(w.fleet.writes("edge-1")) == made
        w.ends_well()


SUICIDE = """
import os, signal, sys
renames = 0
def hook(event, arguments):
    global renames
    renames += event == "os.rename"
    if renames == {save} and event == "{event}" and {which}:
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
from gitops_mc.cli import main
main()
"""
STEPS = {
    "the new file is not renamed": ("os.rename", "True"),
    "it is renamed and the folder not flushed": ("open", "os.path.isdir(arguments[0])"),
}


@pytest.mark.slow
@pytest.mark.parametrize("save", [2, 4])
@pytest.mark.parametrize("step", STEPS)
def test_killed_in_a_save_it_goes_on_from_the_old_state_or_the_new_one(
    tmp_path: Path, save: int, step: str
) -> None:
    event, which = STEPS[step]
    with world(tmp_path) as w:
        process = w.begin(sys.executable, "-c", SUICIDE.format(save=save, event=event, which=which))
        out, _ = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL, out
        w.ends_well()


@pytest.mark.slow
def test_of_two_restarts_at_once_one_goes_on_and_the_other_is_refused(tmp_path: Path) -> None:
    with world(tmp_path, 2, Moment.TAKES_EFFECT) as w:
        process = w.begin()
        w.striker.victim = process
        process.communicate(timeout=60)
        both = [w.begin() for _ in range(2)]
        told = [p.communicate(timeout=60)[0] for p in both]
        codes = sorted(p.returncode for p in both)
        assert codes == [0, 1], told
        refused = told[[p.returncode for p in both].index(1)]
        assert "in use by process" in refused
        w.ends_well()
