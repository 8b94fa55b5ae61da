"""What was forecast against what happened: the whole engine on the sandbox, whose times no forecast has seen."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta

from gitops_mc.app.looks import Pace
from gitops_mc.app.observe import Interest, NodeReading
from gitops_mc.core.forecast import Effort, forecast
from gitops_mc.core.rollout.inputs import Acts, Observed
from gitops_mc.core.rollout.moves import Done
from tests.scenarios.rollout_world import RolloutWorld
from tests.simulation.forecast_worlds import Scene, draw_scene

LOOKS = timedelta(seconds=10)
HOURS = 80


@dataclass(frozen=True, slots=True)
class Outcome:
    """One rollout: what was forecast, and what became of it, in seconds."""

    seed: int
    history: bool
    p05: float
    p50: float
    p95: float
    actual: float
    clusters: tuple[tuple[float, float, float], ...]
    """Of each cluster that had something to do: P50 and P95 of its end, and when it did."""
    told: str = ""
    seconds: float = 0


def play(seed: int) -> tuple[Outcome, ...]:
    """Both rollouts of a seed: the first is forecast from settings, the second from what the first has taught."""
    scene = draw_scene(seed)
    world = RolloutWorld(scene.spec, files=dict(scene.commits[0]), seed=seed, pace=Pace(every=LOOKS))
    _prepare(world, scene)
    return tuple(_played(world, scene, n) for n in range(2))


def _prepare(world: RolloutWorld, scene: Scene) -> None:
    for cluster, number in scene.at_once.items():
        world.fleet.person(cluster).edit("machineconfigpools", "worker", {"spec": {"maxUnavailable": number}})
    for cluster, node in scene.labelled:
        world.fleet.person(cluster).label_node(node, **{"node-role.kubernetes.io/gpu": ""})
    world.clock.wait_for(120)


def _played(world: RolloutWorld, scene: Scene, number: int) -> Outcome:
    world.files.clear()
    world.files.update(scene.commits[number])
    names = frozenset(scene.at_once) | {"global"}
    acts = Acts(approved=names)
    begun = time.process_time()
    fleet = world.git()
    now = world.clock.now()
    executor = world.executor()
    memory = executor.memory()
    live = executor.observe(fleet, Interest(nodes=NodeReading.ALWAYS))
    said = forecast(fleet, memory, Observed(live), now, acts, effort=Effort(looks=LOOKS))
    outlook = world.run(acts, hours=HOURS)
    assert isinstance(outlook, Done), (scene.seed, number, outlook)
    assert said.takes is not None, (scene.seed, number, said.no_time)
    taken = (world.last.at - now).total_seconds()
    world.looks.clear()
    ended = {n: m.passed_at for n, m in world.memory().clusters.items()}
    clusters = tuple(
        (c.end.p50.total_seconds(), c.end.p95.total_seconds(), (at - now).total_seconds())
        for c in said.clusters
        if c.works and c.end is not None and (at := ended[c.name]) is not None
    )
    return Outcome(
        scene.seed,
        bool(number),
        said.takes.p05.total_seconds(),
        said.takes.p50.total_seconds(),
        said.takes.p95.total_seconds(),
        taken,
        clusters,
        told="; ".join(r.told for r in said.rests_on),
        seconds=time.process_time() - begun,
    )
