"""apply, as a process of its own, against a fleet on a fast clock."""

from __future__ import annotations

import base64
import json
import os
import pty
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitops_mc.adapters.memory import read_memory
from gitops_mc.adapters.system import ScaledClock
from gitops_mc.core.model import BRACKET_ANNOTATION, JsonObject
from gitops_mc.core.rollout.memory import FleetMemory, from_json
from gitops_mc.sandbox.options import SandboxOptions
from gitops_mc.sandbox.serving import Serving, serve
from tests.e2e.program import PROGRAM, Ended, Place, plain_environment
from tests.scenarios.rollout_world import UNIT, machine_config

SPEED = 240
PAUSE = threading.Event()
WAVES = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  rollout:
    waves:
      - {name: canary, clusters: {names: [edge-1]}}
      - {name: rest, clusters: {}%s}
"""
REBOOTS = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
SECOND = machine_config("60-worker-more", files={"/etc/more.conf": "two\n"}, more_service=UNIT)
BROKEN = machine_config("50-worker-app", files={"/etc/app.conf": "BROKEN\n"}, app_service=UNIT)


class World:
    """A repository, a state file and a fleet."""

    def __init__(self, place: Place, serving: Serving) -> None:
        self.place = place
        self.serving = serving

    def commit(self, config: str, *, more: str = "", rest: str = "") -> None:
        files = {f"repo/clusters/edge-{n}/app.yaml": config for n in (1, 2)}
        if more:
            files |= {f"repo/clusters/edge-{n}/more.yaml": more for n in (1, 2)}
        self.place.write({"repo/fleet.yaml": WAVES % rest, **files})

    def apply(self, *arguments: str) -> Ended:
        return self.place.run("apply", "repo", "--yes", *arguments)

    def begin(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, "apply", "repo", "--yes"],
            env={**plain_environment(), **self.place.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.place.folder,
        )

    def memory(self) -> FleetMemory:
        state = read_memory(self.place.folder / "repo/.gitops-mc-state.json")
        assert state is not None
        return from_json(state)

    def reboots(self) -> dict[str, int]:
        return {node: n for (_, node), n in self.serving.fleet.reboots().items() if n}

    def pool(self, cluster: str) -> JsonObject:
        found = self.serving.fleet.person(cluster).get("machineconfigpools", "worker")
        assert found is not None
        return found


@contextmanager
def world(folder: Path, *faults: str) -> Iterator[World]:
    stop = threading.Event()
    clock = ScaledClock(SPEED, stop=stop)
    serving = serve(SandboxOptions(clusters=2, nodes=2, faults=faults), clock, SPEED, folder, stop)
    environment = {"GITOPS_MC_GATEWAY": serving.url, "GITOPS_MC_TOKEN_FILE": str(serving.token_file)}
    try:
        yield World(Place(folder, environment), serving)
    finally:
        serving.stop()
    assert serving.fleet.failures == ()


def at_a_terminal(w: World, *arguments: str, answers: bytes) -> tuple[int, str]:
    """Run it on a pseudo-terminal and answer every question; exit code and everything that was shown."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(w.place.folder)
        os.execve(
            PROGRAM[0],
            [*PROGRAM, *arguments],
            {**plain_environment(), **w.place.environment, "TERM": "xterm"},
        )
    shown, answered = b"", 0
    while select.select([terminal], [], [], 40)[0]:
        try:
            read = os.read(terminal, 65_536)
        except OSError:  # how Linux says that nobody holds the other end any more
            break
        shown += read
        while shown.count(b"[y/N]") > answered:
            os.write(terminal, answers)
            answered += 1
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def eventually(true: Callable[[], bool], *, within: float = 20) -> None:
    end = time.monotonic() + within
    while not true():
        assert time.monotonic() < end, "it never came"
        PAUSE.wait(0.02)


def events(told: Ended) -> list[JsonObject]:
    return [json.loads(line) for line in told.out.splitlines()]


def test_a_rollout_is_done_each_node_rebooted_once_and_nothing_is_left_for_the_next_run(
    tmp_path: Path,
) -> None:
    with world(tmp_path) as w:
        w.commit(REBOOTS)
        told = w.apply("-o", "json")
        assert told.code == 0, told
        found = events(told)
        assert found[0]["event"] == "plan"
        assert found[0]["changing"] == ["edge-1", "edge-2"]
        assert (found[-1]["event"], found[-1]["outcome"], found[-1]["exit_code"]) == ("end", "done", 0)
        passed = [e["cluster"] for e in found if e["event"] == "cluster" and e["standing"] == "passed"]
        assert passed == ["edge-1", "edge-2"]
        assert [e["cluster"] for e in found if e["event"] == "write"] == ["edge-1", "edge-2"]
        assert w.reboots() == {"edge-1-w1": 1, "edge-2-w1": 1}
        again = w.apply()
        assert again.code == 0
        assert "0 of 2 clusters change" in again.out
        assert w.reboots() == {"edge-1-w1": 1, "edge-2-w1": 1}


def test_a_degraded_canary_halts_with_reasons_and_what_helps_and_production_is_untouched(
    tmp_path: Path,
) -> None:
    with world(tmp_path, "node-degraded") as w:
        w.commit(BROKEN)
        told = w.apply()
        assert told.code == 6, told
        assert "edge-1-w1" in told.out
        assert "gitops-mc release --state repo/.gitops-mc-state.json edge-1" in told.out
        assert "gitops-mc why edge-1" in told.out
        assert w.serving.fleet.writes("edge-2") == ()


@pytest.mark.slow
def test_an_approval_that_nobody_gives_ends_with_what_to_type_and_the_next_run_goes_on(
    tmp_path: Path,
) -> None:
    with world(tmp_path) as w:
        w.commit(REBOOTS, rest=", approval: manual")
        told = w.apply()
        assert told.code == 6, told
        assert "gitops-mc apply repo --approve rest" in told.out
        assert w.serving.fleet.writes("edge-2") == ()
        assert w.apply("--approve", "rest").code == 0
        assert w.reboots() == {"edge-1-w1": 1, "edge-2-w1": 1}
        assert [a.what for a in w.memory().acts] == ["apply --approve rest"]


def test_ctrl_c_begins_nothing_more_says_what_stands_open_and_the_next_run_goes_on(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.commit(REBOOTS, more=SECOND)
        process = w.begin()
        eventually(lambda: bool(w.serving.fleet.writes("edge-1")))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        assert process.returncode == 130, out
        written = len(w.serving.fleet.writes("edge-1"))
        assert "interrupted; nothing more was begun" in out
        assert "it goes on from there with: gitops-mc apply repo" in out
        assert w.memory().cluster("edge-1").started is not None
        assert len(w.serving.fleet.writes("edge-1")) == written
        assert w.serving.fleet.writes("edge-2") == ()
        assert w.apply().code == 0
        assert w.reboots() == {"edge-1-w1": 1, "edge-2-w1": 1}
        assert BRACKET_ANNOTATION not in w.pool("edge-1")["metadata"].get("annotations", {})


def test_killed_in_the_middle_the_next_run_ends_the_same_and_no_node_reboots_twice(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.commit(REBOOTS, more=SECOND)
        process = w.begin()
        eventually(lambda: len(w.serving.fleet.writes("edge-1")) >= 2)
        process.kill()
        process.communicate()
        assert w.apply().code == 0
        assert w.reboots() == {"edge-1-w1": 1, "edge-2-w1": 1}
        assert BRACKET_ANNOTATION not in w.pool("edge-1")["metadata"].get("annotations", {})


@pytest.mark.slow
def test_somebody_at_the_terminal_is_asked_for_the_plan_and_for_the_approval(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.commit(REBOOTS, rest=", approval: manual")
        code, shown = at_a_terminal(w, "apply", "repo", answers=b"y\n")
        assert code == 0, shown
        assert shown.count("Carry this out?") == 1
        assert shown.count("Approve rest?") == 1
        assert "\x1b[" in shown, "a screen that is kept up to date"
        assert [a.what for a in w.memory().acts] == ["apply --approve rest"]


def test_somebody_who_says_no_changes_nothing(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.commit(REBOOTS)
        code, shown = at_a_terminal(w, "apply", "repo", answers=b"n\n")
        assert code == 6, shown
        assert "not carried out" in shown
        assert w.serving.fleet.writes("edge-1") == ()


@pytest.mark.slow
def test_what_is_sensitive_is_in_no_output_of_a_failed_rollout(tmp_path: Path) -> None:
    with world(tmp_path, "node-degraded") as w:
        secret = "BROKEN correct-horse-battery-staple"
        w.commit(machine_config("50-worker-app", files={"/etc/app.conf": f"{secret}\n"}))
        fleet = w.place.folder / "repo/fleet.yaml"
        fleet.write_text(fleet.read_text() + '  sensitive: ["/etc/app.conf"]\n')
        told = w.apply("-o", "json")
        assert told.code == 6
        shown = [
            told,
            *(
                w.place.run(*words)
                for words in (
                    ("apply", "repo", "--yes"),
                    ("why", "edge-1", "repo"),
                    ("status", "repo", "-o", "json"),
                )
            ),
        ]
        for spelled in ("correct-horse", base64.b64encode(secret.encode()).decode()[:24]):
            assert all(spelled not in ended.out + ended.err for ended in shown)


@pytest.mark.slow
def test_another_plan_than_the_confirmed_one_is_refused_and_the_confirmed_one_needs_no_yes(
    tmp_path: Path,
) -> None:
    with world(tmp_path) as w:
        w.commit(REBOOTS)
        told = w.place.run("apply", "repo", "--plan-digest", "0" * 64)
        assert told.code == 6
        assert "this is not the plan that was confirmed" in told.err
        assert w.serving.fleet.writes("edge-1") == ()
        digest = json.loads(w.place.run("plan", "repo", "-o", "json").out)["digest"]
        assert w.place.run("apply", "repo", "--plan-digest", digest, "--cluster", "edge-1").code == 6, (
            "a part is another plan"
        )
        assert w.place.run("apply", "repo", "--plan-digest", digest).code == 0


@pytest.mark.slow
def test_a_chosen_cluster_opens_no_wave_earlier(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.commit(REBOOTS)
        told = w.apply("--cluster", "edge-2")
        assert told.code == 6, told
        assert "wave canary is not done" in told.out
        assert w.serving.fleet.writes("edge-2") == ()
        assert w.apply("--cluster", "edge-1").code == 0
        assert w.reboots() == {"edge-1-w1": 1}


@pytest.mark.slow
def test_a_cluster_with_problems_is_left_out_and_the_exit_code_says_so(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.commit(REBOOTS)
        w.place.write({"repo/clusters/edge-2/app.yaml": "kind: Nonsense\n"})
        told = w.apply()
        assert told.code == 4, told
        assert "gitops-mc validate" in told.out
        assert w.reboots() == {"edge-1-w1": 1}


def test_what_fits_no_window_is_held_until_somebody_overrides_it_for_a_reason_that_is_kept(
    tmp_path: Path,
) -> None:
    with world(tmp_path) as w:
        w.commit(REBOOTS)
        frozen = '  windows:\n    - freeze: {cron: "0 0 * * *", duration: 1d, timeZone: UTC}\n'
        w.place.write({"repo/fleet.yaml": WAVES % "" + frozen})
        told = w.apply()
        assert told.code == 6, told
        assert "no window opens in the next" in told.out
        assert (
            "lengthen its window in fleet.yaml, or: gitops-mc apply repo --override-window edge-1 --reason TEXT"
            in told.out
        )
        assert w.serving.fleet.writes("edge-1") == ()
        done = w.apply("--override-window", "edge-*", "--reason", "tonight's outage")
        assert done.code == 0, done
        assert set(w.reboots().values()) == {1}
        (act,) = w.memory().acts
        assert (act.what, act.why) == ("apply --override-window edge-*", "tonight's outage")
        assert act.who


def test_what_cannot_be_asked_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.commit(REBOOTS)
        alone = w.place.run("apply", "repo")
        assert alone.code == 2
        assert "--yes" in alone.err
        assert w.apply("--approve", "rst").code == 2
        assert w.apply("--override-window", "edge-1").code == 2
        assert w.apply("--override-window", "edge-7", "--reason", "it burns").code == 2
        w.place.write(
            {"repo/fleet.yaml": WAVES % "", "repo/clusters/edge-2/app.yaml": "kind: Nonsense\n", "bad": "x"}
        )
        unread = w.place.run("apply", "repo", "--yes", "--token-file", "bad")
        assert unread.code == 1, unread
        assert "no cluster could be read" in unread.err
        w.place.write({"repo/fleet.yaml": "kind: Nonsense\n"})
        assert w.apply().code == 4
        assert w.serving.fleet.writes("edge-1") == ()
