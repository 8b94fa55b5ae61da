from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_mc.sandbox.faults import FaultBoard, FaultId
from gitops_mc.sandbox.fleet import FleetSpec, simple_fleet
from gitops_mc.sandbox.operator.controller import OperatorOptions
from gitops_mc.sandbox.operator.merging import MergeOrder
from tests.sandbox.platform_world import EDGE, World, config, custom_pool

FILE = config("50-worker-motd", files={"/etc/motd": "hello"})
UNIT = config("50-worker-unit", units={"a.service": "[Unit]"})


def with_operator(options: OperatorOptions, *, workers: int = 2) -> FleetSpec:
    spec = simple_fleet(EDGE, workers=workers)
    return replace(spec, clusters=tuple(replace(c, operator=options) for c in spec.clusters))


def test_a_preinstalled_cluster_begins_settled_with_everything_the_operator_creates() -> None:
    world = World()
    assert world.fleet.failures == ()
    assert [c["metadata"]["name"] for c in world.edge.list_all("machineconfigs")][:2] == [
        "00-master",
        "00-worker",
    ]
    policy = world.edge.get("machineconfigurations", "cluster")
    assert policy is not None
    assert policy["spec"]["defaultNodeDisruptionPolicySpecAction"] == {
        "files": [{"type": "None"}],
        "units": [{"type": "Reboot"}],
    }
    assert policy["status"]["observedGeneration"] == policy["metadata"]["generation"]
    for name in ("master", "worker"):
        pool = world.pool(name)
        assert pool["spec"]["configuration"] == pool["status"]["configuration"]
        assert pool["status"]["observedGeneration"] == pool["metadata"]["generation"]
        assert world.condition("Updated", name) == "True"
    assert world.clock.now() == world.start


def test_right_after_a_change_the_pool_still_says_updated() -> None:
    world = World()
    before = world.pool()
    world.edge.apply("machineconfigs", FILE)
    world.run(4)
    assert world.pool() == before
    world.run(4)
    assert world.pool()["spec"]["configuration"] != before["spec"]["configuration"]
    assert world.pool()["status"]["configuration"] == before["status"]["configuration"]
    assert world.condition("Updated") == "False"
    world.run(600)
    assert world.condition("Updated") == "True"
    assert world.pool()["spec"]["configuration"] == world.pool()["status"]["configuration"]
    assert world.fleet.machine(EDGE, "edge-w1").files == {"/etc/motd": b"hello"}


def test_the_sources_are_named_and_a_revert_returns_to_the_old_name() -> None:
    world = World()
    old = world.pool()["spec"]["configuration"]
    world.edge.apply("machineconfigs", FILE)
    world.run(600)
    new = world.pool()["spec"]["configuration"]
    assert [s["name"] for s in new["source"]] == ["00-worker", "50-worker-motd"]
    world.edge.delete("machineconfigs", "50-worker-motd")
    world.run(600)
    assert world.pool()["spec"]["configuration"] == old
    assert world.fleet.machine(EDGE, "edge-w1").files == {}


def test_two_changes_within_the_render_delay_are_rendered_as_one_and_later_ones_are_not_waited_for() -> None:
    world = World()
    world.edge.apply("machineconfigs", FILE)
    world.run(4)
    world.edge.apply("machineconfigs", UNIT)
    world.run(600)
    assert world.fleet.node_log(EDGE, "edge-w1").reboots == 1
    assert len(world.fleet.node_log(EDGE, "edge-w1").updates) == 1
    world.edge.apply("machineconfigs", config("60-worker-a", units={"b.service": "x"}))
    world.run(8)
    world.edge.apply("machineconfigs", config("60-worker-b", units={"c.service": "x"}))
    world.run(900)
    assert world.fleet.node_log(EDGE, "edge-w1").reboots == 3


def test_nodes_go_one_by_one() -> None:
    world = World(simple_fleet(EDGE, workers=3))
    world.edge.apply("machineconfigs", UNIT)
    world.run(1800)
    events = sorted(
        (event.at, -len(event.what), node)
        for node in ("edge-w1", "edge-w2", "edge-w3")
        for event in world.fleet.node_log(EDGE, node).events
        if event.what in {"update started", "update done"}
    )
    assert [node for _, _, node in events] == [
        "edge-w1",
        "edge-w1",
        "edge-w2",
        "edge-w2",
        "edge-w3",
        "edge-w3",
    ]


def test_a_late_render_leaves_the_old_configuration_for_as_long_as_asked() -> None:
    world = World()
    before = world.pool()
    world.faults.set(FaultId.LATE_RENDER, cluster=EDGE, seconds=60)
    world.edge.apply("machineconfigs", FILE)
    world.run(58)
    assert world.pool() == before
    world.run(5)
    assert world.pool()["spec"]["configuration"] != before["spec"]["configuration"]


@pytest.mark.parametrize("change", ["add", "remove"])
def test_stale_true_shows_the_old_status_while_nodes_already_move(change: str) -> None:
    world = World()
    if change == "remove":
        world.edge.apply("machineconfigs", UNIT)
        world.run(900)
    before = world.pool()["status"]
    world.faults.set(FaultId.STALE_TRUE, cluster=EDGE, seconds=60)
    if change == "add":
        world.edge.apply("machineconfigs", UNIT)
    else:
        world.edge.delete("machineconfigs", "50-worker-unit")
    world.run(58)
    assert world.pool()["status"] == before
    assert world.condition("Updated") == "True"
    assert world.notes("edge-w1")["state"] == "Working"
    world.run(5)
    assert world.condition("Updated") == "False"


def test_one_bad_config_degrades_the_pool_and_its_removal_mends_it() -> None:
    world = World()
    before = world.pool()["spec"]["configuration"]
    world.edge.apply("machineconfigs", config("50-worker-bad", ignition={"version": "3.2.0"}))
    world.run(20)
    assert world.condition("RenderDegraded") == world.condition("Degraded") == "True"
    assert "50-worker-bad" in world.message("RenderDegraded")
    assert world.pool()["spec"]["configuration"] == before
    world.edge.delete("machineconfigs", "50-worker-bad")
    world.run(20)
    assert world.condition("Degraded") == "False"


def test_the_policy_shows_in_status_after_a_while_and_not_before() -> None:
    world = World()
    world.faults.set(FaultId.POLICY_LATE, seconds=30)
    files = [{"path": "/etc/motd", "actions": [{"type": "Drain"}]}]
    world.edge.edit("machineconfigurations", "cluster", {"spec": {"nodeDisruptionPolicy": {"files": files}}})
    world.run(29)
    policy = world.edge.get("machineconfigurations", "cluster") or {}
    assert policy["status"]["nodeDisruptionPolicyStatus"]["clusterPolicies"]["files"] == []
    world.run(5)
    policy = world.edge.get("machineconfigurations", "cluster") or {}
    assert policy["status"]["nodeDisruptionPolicyStatus"]["clusterPolicies"]["files"] == files
    assert policy["status"]["observedGeneration"] == policy["metadata"]["generation"]


@pytest.mark.parametrize("renders", [True, False])
def test_a_paused_pool_renders_or_not_and_never_moves_a_node(renders: bool) -> None:  # noqa: FBT001
    world = World()
    if not renders:
        world.faults.set(FaultId.PAUSED_DOES_NOT_RENDER)
    before = world.pool()["spec"]["configuration"]
    world.edge.pause("worker")
    world.edge.apply("machineconfigs", UNIT)
    world.run(600)
    assert (world.pool()["spec"]["configuration"] != before) is renders
    assert world.fleet.node_log(EDGE, "edge-w1").updates == ()
    world.edge.unpause("worker")
    world.run(900)
    assert world.condition("Updated") == "True"
    assert world.fleet.node_log(EDGE, "edge-w1").reboots == 1


@pytest.mark.parametrize("order", MergeOrder)
def test_either_merge_order(order: MergeOrder) -> None:
    world = World(with_operator(OperatorOptions(merge_order=order)))
    world.edge.apply("machineconfigpools", custom_pool("infra"))
    world.edge.label_node("edge-w2", **{"node-role.kubernetes.io/infra": ""})
    world.edge.apply("machineconfigs", config("10-infra-motd", "infra", files={"/etc/motd": "infra"}))
    world.edge.apply("machineconfigs", config("50-worker-motd", files={"/etc/motd": "worker"}))
    world.run(900)
    expected = b"worker" if order is MergeOrder.ALPHABETICAL else b"infra"
    assert world.fleet.machine(EDGE, "edge-w2").files["/etc/motd"] == expected
    assert world.fleet.machine(EDGE, "edge-w1").files["/etc/motd"] == b"worker"


def test_a_pool_without_nodes_is_updated_at_once() -> None:
    faults = FaultBoard()
    faults.set(FaultId.UNLABELLED_WORKERS)
    world = World(faults=faults)
    assert world.pool()["status"]["machineCount"] == 0
    world.edge.apply("machineconfigs", UNIT)
    world.run(30)
    assert world.condition("Updated") == "True"
    assert world.pool()["status"]["configuration"] == world.pool()["spec"]["configuration"]
    assert "annotations" not in world.node("edge-w1")["metadata"]


def test_a_node_in_two_custom_pools_is_skipped() -> None:
    world = World()
    for name in ("infra", "gpu"):
        world.edge.apply("machineconfigpools", custom_pool(name))
    labels = {"node-role.kubernetes.io/infra": "", "node-role.kubernetes.io/gpu": ""}
    world.edge.label_node("edge-w1", **labels)
    world.edge.apply("machineconfigs", UNIT)
    world.run(900)
    assert world.fleet.skipped_nodes(EDGE) == {"edge-w1": ("gpu", "infra")}
    assert world.fleet.node_log(EDGE, "edge-w1").reboots == 0
    assert world.fleet.node_log(EDGE, "edge-w2").reboots == 1


@pytest.mark.parametrize("retargets", [True, False])
def test_whether_a_degraded_node_gets_the_repair(retargets: bool) -> None:  # noqa: FBT001
    world = World()
    world.faults.set(FaultId.NODE_DEGRADED, marker="BROKEN")
    if not retargets:
        world.faults.set(FaultId.DEGRADED_NOT_RETARGETED)
    world.edge.apply("machineconfigs", config("50-worker-x", files={"/x": "BROKEN"}))
    world.run(300)
    assert world.condition("Degraded") == "True"
    assert 'Node edge-w1 is reporting: "failed to write file /x: BROKEN"' in world.message("NodeDegraded")
    world.edge.apply("machineconfigs", config("50-worker-x", files={"/x": "fine"}))
    world.run(900)
    assert world.condition("Updated") == ("True" if retargets else "False")


def test_an_operator_that_restarts_renders_the_same_names_and_moves_nobody() -> None:
    world = World()
    world.edge.apply("machineconfigs", UNIT)
    world.run(20)
    world.fleet.restart_operator(EDGE)
    world.run(1200)
    assert world.condition("Updated") == "True"
    assert [world.fleet.node_log(EDGE, f"edge-w{n}").reboots for n in (1, 2)] == [1, 1]


def test_a_node_that_joins_in_the_middle_takes_part() -> None:
    world = World()
    world.edge.apply("machineconfigs", UNIT)
    world.run(30)
    world.fleet.add_node(EDGE, "edge-w9")
    world.run(5)
    assert world.pool()["status"]["machineCount"] == 3
    world.run(1200)
    assert world.condition("Updated") == "True"
    assert world.fleet.node_log(EDGE, "edge-w9").reboots == 1
