"""The gates on a fleet that lives: what they say must be what the machines have, whatever the operator does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from gitops_mc.core.gates import (
    Attribution,
    ModuleClocks,
    Needs,
    PoolClocks,
    PoolReading,
    Unsettled,
    judge,
    judge_module,
    needs_for_pools,
    read_components,
    read_module,
    read_policy,
    read_pool,
    read_publication,
)
from gitops_mc.core.gates.needs import NodeNeed
from gitops_mc.core.gates.waiting import GateReady
from gitops_mc.core.ignition import MergeOrder
from gitops_mc.core.live import LiveCluster, MachineApis, Objects, objects, unread
from gitops_mc.core.model import Failed, JsonObject, Known, Open, Verdict, name_of
from gitops_mc.core.policy import ModuleGatePolicy, PoolGatePolicy
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.sandbox.platform_world import EDGE, FILE_POLICY_RESTART, World, config

POLICY = PoolGatePolicy()
NODES = ("edge-w1", "edge-w2")
FILE = config("50-worker-motd", files={"/etc/motd": "hello"})
TWO = config("50-worker-motd", files={"/etc/motd": "hello", "/etc/issue": "there"})
BROKEN = config("50-worker-motd", files={"/etc/motd": "BROKEN"})
OURS = frozenset({"50-worker-motd"})


def observe(world: World) -> LiveCluster:
    """What a shell reads that fetches what the gates say they lack, and no more."""
    now, edge, platform = world.clock.now(), world.edge, world.platform

    def known(found: list[JsonObject], prefix: str = "") -> Known[Objects]:
        return Known(objects({prefix + name_of(body): body for body in found}), now)

    configs = edge.list_all("machineconfigs")
    rendered = {name_of(c): c for c in configs if name_of(c).startswith("rendered-")}
    components: dict[str, JsonObject] = {}
    for resource, kind in (("deployments", "Deployment"), ("daemonsets", "DaemonSet")):
        components |= {f"{kind}/{name_of(body)}": body for body in edge.list_all(resource)}
    catalog = {f"ModulePlugin/{name_of(b)}": b for b in platform.list_all("moduleplugins")}
    catalog |= {f"ModuleConfig/{name_of(b)}": b for b in platform.list_all("moduleconfigs")}
    live = replace(
        unread(EDGE, now),
        machine_apis=Known(MachineApis(served=bool(configs)), now),
        configs=known([c for c in configs if name_of(c) not in rendered]),
        pools=known(edge.list_all("machineconfigpools")),
        policies=known(edge.list_all("machineconfigurations")),
        rendered=Known(objects({}), now),
        modules=known(world.modules()),
        catalog=Known(objects(catalog), now),
        components=Known(objects(components), now),
    )
    while not (needs := needs_for_pools(live, ("master", "worker"))).met:
        live = fetch(live, needs, rendered, known(edge.list_all("nodes")))
    return live


def fetch(
    live: LiveCluster, needs: Needs, rendered: dict[str, JsonObject], nodes: Known[Objects]
) -> LiveCluster:
    assert isinstance(live.rendered, Known)
    found = {**live.rendered.value, **{name: rendered[name] for name in needs.rendered}}
    live = replace(live, rendered=Known(objects(found), nodes.at))
    return replace(live, nodes=nodes) if needs.nodes is NodeNeed.LACKING else live


@dataclass
class Watch:
    """Looks at pool worker every five seconds."""

    world: World
    order: MergeOrder = MergeOrder.ALPHABETICAL
    excused: frozenset[str] = frozenset()
    clocks: PoolClocks = field(default_factory=PoolClocks)

    def read(self) -> PoolReading:
        return read_pool(
            observe(self.world), "worker", order=self.order, policy=POLICY, excused=self.excused, ours=OURS
        )

    def look(self) -> Verdict:
        found, self.clocks = judge(self.read(), self.clocks, POLICY, self.world.clock.now())
        return found

    def until(self, wanted: type[Verdict], within: float) -> Verdict:
        """Look until the verdict is this one."""
        found = self.look()
        for _ in range(int(within / 5)):
            if isinstance(found, wanted):
                return found
            self.world.run(5)
            found = self.look()
        raise AssertionError(f"not {wanted.__name__} within {within} s: {found}")


def files(world: World) -> list[dict[str, bytes]]:
    return [dict(world.fleet.machine(EDGE, node).files) for node in NODES]


def seconds_since(world: World, change: Callable[[], object]) -> float:
    begun = world.clock.now()
    change()
    Watch(world).until(Open, 3000)
    return (world.clock.now() - begun).total_seconds()


@pytest.mark.parametrize("fault", [None, FaultId.STALE_TRUE, FaultId.LATE_RENDER])
def test_the_gate_opens_when_the_machines_have_it_and_not_before(fault: FaultId | None) -> None:
    """Created, changed so that only a file goes, and deleted: each time the machines are the judge."""
    world = World()
    if fault is not None:
        world.faults.set(fault, cluster=EDGE, seconds=60)
    edge = world.edge
    steps: list[tuple[Callable[[], object], dict[str, bytes]]] = [
        (lambda: edge.apply("machineconfigs", TWO), {"/etc/motd": b"hello", "/etc/issue": b"there"}),
        (lambda: edge.apply("machineconfigs", FILE), {"/etc/motd": b"hello"}),
        (lambda: edge.delete("machineconfigs", name_of(FILE)), {}),
    ]
    for change, wanted in steps:
        took = seconds_since(world, change)
        assert files(world) == [wanted, wanted]
        assert took > (60 if fault else 30)


def test_a_change_that_breaks_a_node_fails_by_name_and_its_repair_opens() -> None:
    world = World()
    world.faults.set(FaultId.NODE_DEGRADED, cluster=EDGE)
    watch = Watch(world)
    world.edge.apply("machineconfigs", BROKEN)
    assert "edge-w1" in watch.until(Failed, 1200).reason
    reading = watch.read()
    assert isinstance(reading, Unsettled)
    assert reading.terminal is not None
    assert reading.terminal.attribution is Attribution.OURS
    assert reading.capacity_left == 1
    world.edge.apply("machineconfigs", FILE)
    watch.clocks = PoolClocks()
    watch.until(Open, 1200)
    assert files(world) == [{"/etc/motd": b"hello"}] * 2


def test_degraded_that_flaps_fails_nothing() -> None:
    world = World()
    world.faults.set(FaultId.DEGRADED_FLAP, cluster=EDGE)
    world.edge.apply("machineconfigs", FILE)
    watch = Watch(world)
    watch.until(Open, 1200)
    assert files(world) == [{"/etc/motd": b"hello"}] * 2


def test_a_node_that_never_returns_stalls_the_pool_by_name_and_may_be_excused() -> None:
    world = World()
    world.faults.set(FaultId.NODE_NEVER_RETURNS, cluster=EDGE, node="edge-w2")
    world.edge.apply("machineconfigs", config("50-worker-motd", units={"a.service": "[Unit]"}))
    watch = Watch(world)
    found = watch.until(Failed, 3 * 3600)
    assert "node edge-w2" in found.reason
    assert "NotReady" in found.reason
    Watch(world, excused=frozenset({"edge-w2"})).until(Open, 60)


def test_a_drain_that_is_stuck_is_named_long_before_it_is_degraded() -> None:
    world = World()
    world.faults.set(FaultId.DRAIN_STUCK, cluster=EDGE, node="edge-w1")
    world.edge.apply("machineconfigs", config("50-worker-motd", units={"a.service": "[Unit]"}))
    world.run(600)
    reading = Watch(world).read()
    assert isinstance(reading, Unsettled)
    assert [t.node for t in reading.draining] == ["edge-w1"]
    assert reading.terminal is None
    assert "PodDisruptionBudget" in reading.reason


def test_a_cordoned_node_holds_the_gate_and_needs_hands() -> None:
    world = World()
    world.edge.cordon("edge-w2")
    world.edge.apply("machineconfigs", FILE)
    world.run(900)
    reading = Watch(world).read()
    assert isinstance(reading, Unsettled)
    assert [t.node for t in reading.needs_hands] == ["edge-w2"]
    assert reading.capacity_left == 0


def test_unlabelled_workers_never_give_a_green_worker_pool() -> None:
    world = World()
    world.faults.set(FaultId.UNLABELLED_WORKERS, cluster=EDGE)
    world.run(120)
    reading = Watch(world).read()
    assert isinstance(reading, Unsettled)
    assert "edge-w1, edge-w2" in reading.reason
    assert "kubectl label node edge-w1 node-role.kubernetes.io/worker=" in reading.reason


def test_the_policy_gate_waits_until_the_policy_shows() -> None:
    world = World()
    world.faults.set(FaultId.POLICY_LATE, cluster=EDGE, seconds=60)
    wanted = {"files": [FILE_POLICY_RESTART]}
    world.edge.edit("machineconfigurations", "cluster", {"spec": {"nodeDisruptionPolicy": wanted}})
    world.run(50)
    assert not isinstance(read_policy(observe(world), wanted), GateReady)
    world.run(20)
    assert isinstance(read_policy(observe(world), wanted), GateReady)


def test_an_installation_is_ready_when_the_operator_has_come_up() -> None:
    world = World(simple_fleet(EDGE, machine_config=None))
    version = "v4.3.0"
    assert isinstance(read_publication(observe(world), "machine-config", version), GateReady)
    assert not isinstance(read_components(observe(world)), GateReady)
    world.platform.apply(
        "moduleinfoes",
        {
            "apiVersion": "cluster.alauda.io/v1alpha1",
            "kind": "ModuleInfo",
            "metadata": {
                "name": "edge-temporary-name",
                "labels": {
                    "cpaas.io/cluster-name": EDGE,
                    "cpaas.io/module-name": "machine-config",
                    "cpaas.io/module-type": "plugin",
                },
            },
            "spec": {"version": version, "config": {}},
        },
    )
    clocks, seen = ModuleClocks(), []
    for _ in range(60):
        reading = read_module(observe(world), "machine-config", wanted=version)
        found, clocks = judge_module(reading, clocks, ModuleGatePolicy(), world.clock.now())
        seen.append(isinstance(found, Open))
        world.run(5)
    assert not seen[0]
    assert seen[-1]
    assert isinstance(read_components(observe(world)), GateReady)
    Watch(world).until(Open, 600)
