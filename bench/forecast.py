"""What a forecast takes, in processor time and memory, beside the plan of the same fleet (`preview`), for 10, 50 and 500 clusters.

Ten clusters of different sizes stand in the sandbox and are read there; the others are copies of what was read, each with
objects of its own. Each figure comes from a process of its own, which begins with nothing worked out.

.venv/bin/python bench/forecast.py [CLUSTERS ...]
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from gitops_mc.app.observe import Interest, NodeReading
from gitops_mc.core.desired import load
from gitops_mc.core.forecast import forecast
from gitops_mc.core.live import LiveCluster, objects
from gitops_mc.core.model import Commit, Known
from gitops_mc.core.rollout.inputs import Acts, Fleet, Observed
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory
from gitops_mc.core.rollout.paces import Pace, Work
from gitops_mc.core.rollout.preview import preview
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, FleetSpec
from gitops_mc.sandbox.site import ClusterSpec
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, source_files

SIZES = (10, 50, 500)
MODELS = 10
FLEET = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
spec:
  shared: [{path: shared/base, clusters: {names: ["*"]}}]
  rollout:
    waves:
      - {name: first, clusters: {names: ["edge-00*"]}, soak: 30m}
      - {name: rest, clusters: {}, maxConcurrent: 10%}
  windows:
    - allow: {cron: "0 20 * * *", duration: 10h, timeZone: Asia/Shanghai}
"""


@dataclass(frozen=True)
class Scene:
    """A fleet as it is read."""

    fleet: Fleet
    memory: FleetMemory
    live: dict[str, LiveCluster]
    now: datetime


def models() -> tuple[dict[str, LiveCluster], datetime]:
    """Clusters of different sizes, as they are read."""
    specs = (
        ClusterSpec(f"model-{n}", masters=3, workers=2 + 3 * n, machine_config=MACHINE_CONFIG_VERSION)
        for n in range(MODELS)
    )
    world = RolloutWorld(spec=FleetSpec(tuple(specs)))
    for n in range(MODELS):
        world.files[f"clusters/model-{n}/own.yaml"] = machine_config("60-own", files={"/etc/own": "0"})
    fleet = world.git()
    live = world.executor().observe(fleet, Interest(nodes=NodeReading.ALWAYS))
    return dict(live), world.clock.now()


def copied(live: LiveCluster, name: str) -> LiveCluster:
    """The same cluster once more, under another name."""

    def again(fact: Any) -> Any:
        if not isinstance(fact, Known):
            return fact
        return replace(fact, value=objects({n: json.loads(json.dumps(b)) for n, b in fact.value.items()}))

    facts = ("configs", "pools", "policies", "rendered", "nodes", "catalog", "components", "inventory")
    return replace(live, name=name, **{fact: again(getattr(live, fact)) for fact in facts})


def scene_of(size: int) -> Scene:
    found, now = models()
    names = [f"edge-{n:03}" for n in range(size)]
    files = {
        "fleet.yaml": FLEET,
        "shared/base/unit.yaml": machine_config("50-unit", app_service=UNIT),
        "shared/base/master.yaml": machine_config("50-master", "master", files={"/etc/a.conf": "a\n"}),
        **{f"clusters/{name}/own.yaml": machine_config("60-own", files={"/etc/own": name}) for name in names},
    }
    state = load(source_files(files), cache={})
    live = {name: copied(found[f"model-{n % MODELS}"], name) for n, name in enumerate(names)}
    paces = tuple(Pace(Work.REBOOT, 5, 1, 3000 + 60 * n) for n in range(16))
    taught = {name: ClusterMemory(paces=paces) for name in names[: size // 2]}
    return Scene(
        Fleet(state.policy, state.clusters, Commit("a" * 40)), FleetMemory(clusters=taught), live, now
    )


def seconds_of(size: int, work: Callable[[Scene], object]) -> float:
    """Processor time, in a process that has only read the fleet."""
    scene = scene_of(size)
    begun = time.process_time()
    work(scene)
    return time.process_time() - begun


def memory_of(size: int, work: Callable[[Scene], object]) -> float:
    """The most that was held at once, in MiB, over what the fleet itself takes."""
    scene = scene_of(size)
    gc.collect()
    tracemalloc.start()
    work(scene)
    return tracemalloc.get_traced_memory()[1] / 2**20


def planned(scene: Scene) -> object:
    return preview(scene.fleet, scene.memory, scene.live, scene.now)


def foretold(scene: Scene) -> object:
    acts = Acts(approved=frozenset(c.name for c in scene.fleet.clusters))
    found = forecast(scene.fleet, scene.memory, Observed(scene.live), scene.now, acts)
    assert not found.no_time, found.no_time
    return found


def both(scene: Scene) -> object:
    return planned(scene), foretold(scene)


def apart(measure: Callable[[int, Callable[[Scene], object]], float], size: int) -> list[float]:
    """A figure each of the plan, the forecast, and both, from processes of their own."""
    figures = []
    for work in (planned, foretold, both):
        with multiprocessing.get_context("spawn").Pool(1) as alone:
            figures.append(alone.apply(measure, (size, work)))
    return figures


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    print("clusters   preview            forecast           forecast after preview")
    for size in sizes:
        seconds, memory = apart(seconds_of, size), apart(memory_of, size)
        seconds[2], memory[2] = seconds[2] - seconds[0], memory[2] - memory[0]
        told = (f"{s:6.2f} s {m:5.1f} MiB" for s, m in zip(seconds, memory, strict=True))
        print(f"{size:8}   " + "   ".join(told), flush=True)


if __name__ == "__main__":
    main()
