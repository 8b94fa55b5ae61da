from __future__ import annotations

import random
from datetime import timedelta

import pytest

from gitops_mc.sandbox.faults import FaultBoard
from gitops_mc.sandbox.fleet import simple_fleet
from gitops_mc.sandbox.operator.pools import view
from gitops_mc.sandbox.storm import storm
from tests.sandbox.platform_world import EDGE, World, config, custom_pool

LENGTH = timedelta(hours=2)


def test_a_storm_is_drawn_by_its_seed_and_is_over_in_time() -> None:
    world = World()

    def drawn(seed: int) -> list[tuple[object, ...]]:
        faults = storm(FaultBoard(), seed=seed, clusters=[EDGE], start=world.start, length=LENGTH, count=20)
        assert all(world.start <= f.start < f.end <= world.start + LENGTH for f in faults)
        return [(f.kind.id, f.start, f.end, dict(f.parameters)) for f in faults]

    assert drawn(1) == drawn(1) != drawn(2)


@pytest.mark.parametrize("seed", range(25))
def test_whatever_people_and_faults_do_the_operator_keeps_its_limit_and_settles_afterwards(seed: int) -> None:
    draw = random.Random(seed)
    world = World(simple_fleet(EDGE, workers=4), seed=seed)
    storm(world.faults, seed=seed, clusters=[EDGE, "global"], start=world.start, length=LENGTH, count=8)
    world.edge.apply("machineconfigpools", custom_pool("infra", maxUnavailable="50%"))
    for minute in sorted(draw.sample(range(120), 6)):
        at = world.start + timedelta(minutes=minute)
        world.fleet.at(at, lambda: change(world, draw))
    for _ in range(120):
        world.run(60)
        down = [v for n in world.edge.list_all("nodes") if not (v := view(n)).available]
        in_infra = [v for v in down if "node-role.kubernetes.io/infra" in v.labels]
        assert len(in_infra) <= 2
        assert len(down) <= 4
    world.run(6 * 3600)
    assert world.fleet.failures == ()
    for pool in ("master", "worker", "infra"):
        assert world.condition("Updated", pool) == "True", world.pool(pool)
        assert world.condition("Degraded", pool) == "False"
    for node in world.fleet.nodes(EDGE):
        log = world.fleet.node_log(EDGE, node)
        assert all(one[1] == other[0] for one, other in zip(log.updates, log.updates[1:], strict=False))
        assert log.reboots <= len(log.of(log.events[0].what.STARTED))


def change(world: World, draw: random.Random) -> None:
    name = draw.choice(["50-worker-a", "50-worker-b", "60-infra-a"])
    match draw.randrange(6):
        case 0:
            world.edge.delete("machineconfigs", name)
        case 1:
            labels = {"node-role.kubernetes.io/infra": draw.choice(["", None])}
            world.edge.label_node(draw.choice(["edge-w1", "edge-w2"]), **labels)
        case 2:
            world.fleet.restart_operator(EDGE)
        case _:
            units = {"a.service": draw.choice("xyz")} if draw.random() < 0.5 else None
            role = name.split("-")[1]
            world.edge.apply(
                "machineconfigs", config(name, role, files={"/a": draw.choice("xyz")}, units=units)
            )
