"""What the preview of a pull request takes, in time and memory, on a fleet of 500 clusters: one that changes every cluster, and one
that changes a single one; by Git alone, and with a look at the clusters; as a command that begins with nothing, and in a process
that has read the fleet before, as the controller has.

The fleet answers from memory, in a process of its own. Each figure of a command is that of a process of its own.

.venv/bin/python bench/preview.py [CLUSTERS]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.compare.canned import Model, fleet_of, model, served
from gitops_mc.adapters.git_pulls import GitPulls
from gitops_mc.adapters.kube import GatewayTransport
from gitops_mc.adapters.memory import FileMemory, MemoryView
from gitops_mc.adapters.system import SystemClock, ThreadWorkers
from gitops_mc.app.api import ClusterApi
from gitops_mc.app.executor import Executor
from gitops_mc.app.observe import Interest, NodeReading
from gitops_mc.app.observe_drains import observe_fleet_drains
from gitops_mc.app.reading import ReadingCache
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.app.use_cases.previewing import preview_by_git, read_pull
from gitops_mc.app.use_cases.previewing_live import Look, preview_live
from gitops_mc.core.custom import GROUP_VERSION
from gitops_mc.core.model import GLOBAL_CLUSTER
from gitops_mc.core.preview.model import LivePreview, Preview, State
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import FleetMemory, to_json
from gitops_mc.core.rollout.preview import preview
from tests.adapters.test_git import git
from tests.scenarios.rollout_world import UNIT, machine_config

OBJECTS = 10
STATE = "state.json"
FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: bench}
spec:
  shared: [{path: shared/base, clusters: {}}]
  rollout: {waves: [{name: first, clusters: {names: [edge-0000]}}, {name: rest, clusters: {}, maxConcurrent: 10%}]}
"""
AIMS = {"every": "30 s, 300 MiB", "one": "2 s with what was read before"}


def asked(executor: Executor, fleet: Fleet) -> None:
    """What a preview asks of a cluster beside what a rollout does: nodes, releases, pods, budgets."""
    executor.api.serves(GLOBAL_CLUSTER, GROUP_VERSION)
    live = executor.observe(fleet, Interest(nodes=NodeReading.ALWAYS, releases=True))
    unit = machine_config("90-worker-unit", bench_service=UNIT)
    cluster = fleet.clusters[0]
    manifests = (*cluster.manifests, *_more(cluster.name, unit))
    changed = Fleet(fleet.policy, (type(cluster)(cluster.name, manifests, cluster.content),), fleet.commit)
    found = preview(changed, FleetMemory(), live, executor.clock.now())
    assert found.clusters[0].rebooting, "nothing would be drained, so no pods were asked for"
    observe_fleet_drains(executor.api, executor.clock, executor.workers, found.clusters)


def _more(cluster: str, text: str):  # noqa: ANN202
    from gitops_mc.core.desired import load  # noqa: PLC0415
    from tests.scenarios.rollout_world import source_files  # noqa: PLC0415

    return load(source_files({f"clusters/{cluster}/a.yaml": text}), cache={}).clusters[0].manifests


@dataclass(frozen=True)
class Ground:
    """A clone with the branches `main`, `every` and `one`, and the memory of a rollout that is over."""

    folder: Path
    gateway: str
    token: Path

    @property
    def state(self) -> Path:
        return self.folder.parent / STATE


def laid(one: Model, clusters: int, folder: Path, gateway: str, token: Path) -> Ground:
    ground = Ground(folder / "clone", gateway, token)
    ground.folder.mkdir()
    git(ground.folder, "init", "-q", "-b", "main")
    fleet, memory = fleet_of(one, clusters)
    _write(ground.folder, "fleet.yaml", FLEET)
    for cluster in fleet.clusters:
        for manifest in cluster.manifests:
            _write(
                ground.folder,
                f"clusters/{cluster.name}/{manifest.key.name}.yaml",
                json.dumps(manifest.body, indent=1),
            )
    _write(ground.folder, "shared/base/README.md", "for all clusters\n")
    _commit(ground.folder)
    for branch, path in (("every", "shared/base/unit.yaml"), ("one", "clusters/edge-0007/unit.yaml")):
        git(ground.folder, "checkout", "-q", "-b", branch, "main")
        _write(ground.folder, path, machine_config("90-worker-unit", bench_service=UNIT))
        _commit(ground.folder)
    git(ground.folder, "checkout", "-q", "main")
    store = FileMemory(ground.state)
    store.save(to_json(memory))
    store.close()
    return ground


def _write(folder: Path, path: str, text: str) -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")


@dataclass(frozen=True)
class Figure:
    seconds: float
    busy: float
    """Of them, processor time of this process."""
    mebibytes: float = 0.0


MEASURED = """\
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)
sys.stdout.buffer.write(done.stdout)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss, used.ru_utime + used.ru_stime)
sys.exit(done.returncode)
"""
"""A process begins with the memory of the one that starts it in its books: this one is small."""


def command(ground: Ground, branch: str, *options: str) -> Figure:
    """Of a process of its own, from its start to its end, and the most that it held."""
    typed = ("preview", "--base", "main", "--head", branch, "-o", "markdown", *options)
    arguments = [sys.executable, "-S", "-c", MEASURED, sys.executable, "-m", "gitops_mc.cli", *typed]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    begun = time.perf_counter()
    done = subprocess.run(
        arguments, cwd=ground.folder, stdout=subprocess.PIPE, env=environment, text=True, check=False
    )
    spent = time.perf_counter() - begun
    told, _, held = done.stdout.rstrip().rpartition("\n")
    assert done.returncode == 0, told[:500]
    assert "reboots " in told.splitlines()[0], told[:500]
    memory, busy = held.split()
    return Figure(spent, float(busy), int(memory) / 1024)


def live_options(ground: Ground) -> tuple[str, ...]:
    return ("--gateway", ground.gateway, "--token-file", str(ground.token), "--state", str(ground.state))


def again(branch: str, make: Callable[[str], Preview]) -> Figure:
    """Of a process that has made the preview of another pull request before; the middle of three."""
    make("every" if branch == "one" else "one")
    spent = []
    for _ in range(3):
        begun, busy = time.perf_counter(), time.process_time()
        found = make(branch)
        spent.append(Figure(time.perf_counter() - begun, time.process_time() - busy))
        assert found.verdict.state is State.OK, found.verdict
        assert found.verdict.line.startswith("reboots "), found.verdict
    return sorted(spent, key=lambda each: each.seconds)[1]


def makers(ground: Ground) -> tuple[Callable[[str], Preview], Callable[[str], Preview]]:
    """By Git alone, and with a look; both with one cache of what was read."""
    cache, pulls = ReadingCache(), GitPulls(str(ground.folder))
    clock, workers = SystemClock(threading.Event()), ThreadWorkers(32)
    api = ClusterApi(
        GatewayTransport(ground.gateway, ground.token, connections=32), clock, jitter=lambda: 0.5
    )

    def offline(branch: str) -> Preview:
        return preview_by_git(read_pull(pulls, "main", branch, cache), str, "not asked")

    def live(branch: str) -> Preview:
        executor = Executor(api, clock, workers, MemoryView(ground.state))
        found = preview_live(
            Session(api, clock, workers, executor), read_pull(pulls, "main", branch, cache), Look(str)
        )
        assert isinstance(found.live, LivePreview), found.live
        return found

    return offline, live


def main() -> None:
    clusters = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    one = model(OBJECTS, ask=asked)
    with (
        tempfile.TemporaryDirectory(prefix="gitops-mc-bench-") as place,
        served(one, clusters, Path(place)) as (url, token),
    ):
        ground = laid(one, clusters, Path(place), url, token)
        offline, live = makers(ground)
        print(f"a fleet of {clusters} clusters, {OBJECTS} objects each")
        heads = ("pull request changes", "looks at", "command", "busy", "memory", "read before", "busy")
        print("{:21} {:13} {:>9} {:>8} {:>9} {:>12} {:>8}   aim".format(*heads))
        for branch, whom in (("every", "every cluster"), ("one", "one cluster")):
            for looks, options, make in (
                ("Git alone", ("--only-offline",), offline),
                ("the clusters", live_options(ground), live),
            ):
                cold, warm = command(ground, branch, *options), again(branch, make)
                command_told = f"{cold.seconds:7.2f} s {cold.busy:6.2f} s {cold.mebibytes:5.0f} MiB"
                told = f"{command_told} {warm.seconds:10.2f} s {warm.busy:6.2f} s"
                print(f"{whom:21} {looks:13} {told}   {AIMS[branch]}", flush=True)


if __name__ == "__main__":
    main()
