"""A long life: hundreds of clusters, hour after hour, and what the controller asks, keeps and grows by."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from gitops_mc.app.controller.running import Tempo
from gitops_mc.app.looks import Pace
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.controller_world import ROLLOUTS, ControllerWorld
from tests.scenarios.rollout_world import RolloutWorld, machine_config
from tests.scenarios.test_controller import done

LIMIT = 64 * 1024
AT_ONCE = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  rollout:
    waves: [{name: all, clusters: {}, maxConcurrent: 1000}]
"""


@dataclass
class Counting:
    """Counts what is asked of clusters, and of global."""

    inner: Transport
    calls: Counter[str] = field(default_factory=Counter)

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        where = "global" if cluster == "global" else "clusters"
        self.calls[f"{where} {'reads' if request.method == 'GET' else 'writes'}"] += 1
        return self.inner.send(cluster, request, timeout=timeout)


def life(clusters: int, counting: list[Counting]) -> ControllerWorld:
    """A fleet of so many clusters, one pool each, that has been rolled out."""
    names = [f"edge-{n:03}" for n in range(1, clusters + 1)]
    world = ControllerWorld(
        rollout=RolloutWorld(
            spec=simple_fleet(*names, masters=1, workers=1),
            pace=Pace(every=timedelta(seconds=10)),
        ),
        tempo=Tempo(busy=timedelta(seconds=10), quiet=timedelta(seconds=30), fleets=timedelta(seconds=60)),
    )

    def counted(transport: Transport) -> Transport:
        counting.append(Counting(transport))
        return counting[-1]

    world.rollout.wrap = counted
    config = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"})
    world.push({"fleet.yaml": AT_ONCE, **{f"clusters/{name}/app.yaml": config for name in names}})
    world.live(hours=2, until=done)
    return world


def forget_the_past(world: ControllerWorld) -> None:
    """The servers of this world note every write for the tests; a real server does not stand in our process."""
    for server in world.rollout.fleet.servers.values():
        inside: Any = server
        inside._writes.clear()
        inside._writes_seen = ()
        inside._store.events.clear()
        inside._store.snapshots.clear()
    world.heard.looks.clear()
    world.heard.troubles.clear()


def sizes(world: ControllerWorld) -> list[int]:
    """Bytes of every stored object of ours."""
    bodies = [world.fleet(), *world.kubectl("GET", ROLLOUTS)["items"]]
    return [len(str(body)) for body in bodies]


def traced(world: ControllerWorld) -> int:
    forget_the_past(world)
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def an_idle_hour(world: ControllerWorld, counted: Counting, minutes: int = 60) -> tuple[float, float]:
    """Reads of one cluster, and calls to global, in one pass in which nothing happens."""
    counted.calls.clear()
    passes, clusters = 0, len(world.rollout.fleet.servers) - 1
    for _ in range(minutes):
        world.live(hours=1 / 60)
        passes += len(world.heard.looks)
        world.heard.looks.clear()
    reads = counted.calls["clusters reads"] / clusters / max(passes, 1)
    return reads, (counted.calls["global reads"] + counted.calls["global writes"]) / max(passes, 1)


def test_an_idle_pass_asks_little_and_stored_objects_are_small() -> None:
    counting: list[Counting] = []
    world = life(12, counting)
    reads, others = an_idle_hour(world, counting[-1], minutes=20)
    assert counting[-1].calls["clusters writes"] == 0
    assert reads <= 3, "heads of configs, pools, and MachineConfiguration"
    assert others <= 30, (
        "the Fleet, heads of ClusterRollouts, modules and clusters; the Lease; a status now and then"
    )
    assert max(sizes(world)) < LIMIT


@pytest.mark.slow
def test_two_hours_of_life_with_300_clusters_do_not_grow() -> None:
    counting: list[Counting] = []
    world = life(300, counting)
    world.end()
    tracemalloc.start()  # all that the next process has is counted
    try:
        world.live(hours=0.2)
        base = traced(world)
        reads, others = an_idle_hour(world, counting[-1])
        first = traced(world)
        an_idle_hour(world, counting[-1])
        second = traced(world)
    finally:
        tracemalloc.stop()
    figures = {"base": base, "first": first, "second": second, "reads": reads, "global": others}
    assert reads <= 3, figures
    assert second < first * 1.05, figures
    assert max(sizes(world)) < LIMIT
