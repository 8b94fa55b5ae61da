"""What a preview says of drains is what the sandbox's daemons then do: two implementations of one rule, apart from each other."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitops_mc.app.observe_drains import observe_drains
from gitops_mc.app.use_cases.planning import ask_nobody
from gitops_mc.core.model import JsonObject
from gitops_mc.core.preview.hindrances import Drains, HindranceKind
from gitops_mc.core.preview.node_notes import drained
from gitops_mc.sandbox.fleet import simple_fleet
from gitops_mc.sandbox.nodes.machine import What
from gitops_mc.sandbox.pods.workload import Workload
from tests.app.preview_world import look
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

EDGE = "edge-1"
DEGRADED_AFTER = timedelta(hours=1)
"""A drain that is held up that long is never seen to end by itself before."""
FILES = {f"clusters/{EDGE}/unit.yaml": machine_config("50-worker-unit", app_service=UNIT)}


def settled(*workloads: Workload, workers: int) -> RolloutWorld:
    world = RolloutWorld(simple_fleet(EDGE, workers=workers), files=dict(FILES))
    for workload in workloads:
        world.fleet.run(EDGE, workload)
    world.clock.wait_for(120)
    return world


def foretold(world: RolloutWorld) -> Drains:
    _, planned = look(world, EDGE, asking=ask_nobody)
    [cluster] = planned.preview.clusters
    executor = world.executor()
    found = observe_drains(executor.api, world.clock, cluster)
    assert isinstance(found, Drains)
    return found


def barred(found: Drains, node: str) -> bool:
    return any(h.kind is HindranceKind.BUDGET and h.node == node for h in found.hindrances)


def first(found: Drains) -> str:
    return next(n.nodes[0] for n in found.notes if n.told.startswith("first and last"))


WORKLOADS = st.lists(
    st.builds(
        Workload,
        name=st.sampled_from(["web", "db", "mail"]),
        replicas=st.integers(1, 4),
        min_available=st.one_of(st.none(), st.integers(0, 4), st.sampled_from(["50%", "90%"])),
    ),
    max_size=2,
    unique_by=lambda w: w.name,
)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(WORKLOADS, st.integers(2, 3))
def test_the_first_drain_waits_exactly_where_a_budget_was_said_to_be_in_the_way(
    workloads: list[Workload], workers: int
) -> None:
    world = settled(*workloads, workers=workers)
    found = foretold(world)
    node = first(found)
    world.run(hours=0.9)
    log = world.fleet.node_log(EDGE, node)
    assert log.of(What.CORDONED)
    assert bool(log.of(What.DRAINED)) is not barred(found, node)
    assert world.fleet.failures == ()


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(["", "a", "b"]), min_size=4, max_size=4))
def test_nodes_are_taken_in_the_order_that_was_said(zones: list[str]) -> None:
    world = settled(workers=4)
    person = world.fleet.person(EDGE)
    for at, zone in enumerate(zones):
        if zone:
            person.label_node(f"{EDGE}-w{at + 1}", **{"topology.kubernetes.io/zone": zone})
    _, planned = look(world, EDGE, asking=ask_nobody)
    [cluster] = planned.preview.clusters
    found = drained(cluster.impacts, cluster.live)
    world.run(hours=2)
    begun = {node: world.fleet.node_log(EDGE, node).of(What.STARTED)[0].at for node in found.nodes}
    assert sorted(begun, key=lambda node: begun[node]) == list(found.nodes)


def test_whoever_loosens_the_budget_as_told_gets_through() -> None:
    world = settled(Workload("web", replicas=3, min_available=3), workers=3)
    found = foretold(world)
    assert [h.subject for h in found.hindrances] == ["apps/web"] * 3
    assert (
        "it never allows a disruption (minAvailable 3; 3 of 3 pods healthy, 3 needed)"
        in found.hindrances[0].told
    )
    patch: JsonObject = {"spec": {"minAvailable": 2}}
    world.fleet.person(EDGE).edit("poddisruptionbudgets", "web", patch, "apps")
    world.clock.wait_for(10)
    assert foretold(world).hindrances == ()
    world.run(hours=2)
    assert all(world.fleet.node_log(EDGE, f"{EDGE}-w{at}").of(What.DONE) for at in (1, 2, 3))


@pytest.mark.parametrize(("replicas", "kinds"), [(1, [HindranceKind.SINGLE]), (2, [])])
def test_the_only_replica_is_away_while_its_node_is_drained(
    replicas: int, kinds: list[HindranceKind]
) -> None:
    world = settled(Workload("web", replicas=replicas, start=timedelta(minutes=1)), workers=3)
    found = foretold(world)
    assert [h.kind for h in found.hindrances] == kinds
    least = replicas

    def count() -> None:
        nonlocal least
        ready = [
            pod
            for pod in world.fleet.person(EDGE).list_all("pods")
            if any(c["status"] == "True" for c in pod.get("status", {}).get("conditions", ()))
        ]
        least = min(least, len(ready))

    for seconds in range(0, 1200, 10):
        world.fleet.at(world.clock.now() + timedelta(seconds=seconds), count)
    world.run(hours=1)
    assert (least == 0) is bool(kinds)
