from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import FleetSpec, simple_fleet
from gitops_mc.sandbox.nodes.daemon import NodeOptions
from gitops_mc.sandbox.nodes.machine import What
from tests.sandbox.platform_world import EDGE, FILE_POLICY_RESTART, World, config

W1, W2, M1 = "edge-w1", "edge-w2", "edge-m1"
UNIT = config("50-worker-unit", units={"a.service": "[Unit]"})
CHRONY = config("50-worker-chrony", files={"/etc/chrony.conf": "pool"})


def whats(world: World, node: str = W1) -> list[str]:
    return [event.what.value for event in world.fleet.node_log(EDGE, node).events]


def policy(world: World, *files: object) -> None:
    patch = {"spec": {"nodeDisruptionPolicy": {"files": list(files)}}}
    world.edge.edit("machineconfigurations", "cluster", patch)


def with_nodes(options: NodeOptions) -> FleetSpec:
    spec = simple_fleet(EDGE)
    return replace(spec, clusters=tuple(replace(c, nodes=options) for c in spec.clusters))


def test_a_reboot_is_cordon_drain_write_reboot_uncordon_and_takes_the_node_down() -> None:
    world = World()
    boot_id = world.node(W1)["status"]["nodeInfo"]["bootID"]
    world.edge.apply("machineconfigs", UNIT)
    world.run(20)
    assert world.node(W1)["spec"]["unschedulable"] is True
    assert world.notes(W1)["state"] == "Working"
    world.run(40)
    assert world.node(W1)["status"]["conditions"][0]["status"] == "False"
    assert world.pool()["status"]["unavailableMachineCount"] == 1
    world.run(600)
    assert whats(world) == [
        "provisioned", "update started", "cordoned", "drained", "wrote", "rebooted", "uncordoned", "update done",
    ]  # fmt: skip
    assert world.node(W1)["status"]["conditions"][0]["status"] == "True"
    assert world.node(W1)["status"]["nodeInfo"]["bootID"] != boot_id
    assert "unschedulable" not in world.node(W1)["spec"]
    notes = world.notes(W1)
    assert notes["currentConfig"] == notes["desiredConfig"] == world.pool()["spec"]["configuration"]["name"]
    assert notes["state"] == "Done"
    written = world.fleet.node_log(EDGE, W1).of(What.WROTE)
    assert [event.detail for event in written] == ["unit a.service: Reboot (default for units)"]


def test_a_file_with_a_policy_restarts_its_service_without_cordon_or_reboot() -> None:
    world = World()
    policy(world, FILE_POLICY_RESTART)
    world.run(10)
    world.edge.apply("machineconfigs", CHRONY)
    world.run(120)
    log = world.fleet.node_log(EDGE, W1)
    assert log.actions == ("Restart chronyd.service",)
    assert log.reboots == 0
    assert What.CORDONED not in [event.what for event in log.events]


def test_without_the_policy_the_file_is_written_and_nothing_restarts() -> None:
    world = World()
    world.edge.apply("machineconfigs", CHRONY)
    world.run(120)
    assert world.fleet.node_log(EDGE, W1).actions == ()
    assert world.fleet.machine(EDGE, W1).files == {"/etc/chrony.conf": b"pool"}


def test_a_policy_that_does_not_show_in_time_degrades_the_node_and_then_it_goes_on() -> None:
    world = World()
    world.faults.set(FaultId.POLICY_LATE, seconds=240)
    policy(world, FILE_POLICY_RESTART)
    world.edge.apply("machineconfigs", CHRONY)
    world.run(125)
    assert world.notes(W1)["state"] == "Working"
    world.run(15)
    assert world.notes(W1)["state"] == "Degraded"
    assert "observedGeneration 1, generation 2" in world.notes(W1)["reason"]
    world.run(300)
    assert world.condition("Updated") == "True"
    assert world.fleet.node_log(EDGE, W1).actions == ("Restart chronyd.service",)


def test_a_stuck_drain_is_degraded_only_after_an_hour_and_goes_on_when_the_budget_allows() -> None:
    world = World()
    stuck = world.faults.set(FaultId.DRAIN_STUCK, node=W1)
    world.edge.apply("machineconfigs", UNIT)
    world.run(3500)
    assert world.condition("Degraded") == "False"
    assert world.condition("Updating") == "True"
    world.run(200)
    assert world.condition("Degraded") == "True"
    assert "disruption budget" in world.notes(W1)["reason"]
    world.faults.clear(stuck)
    world.run(600)
    assert world.condition("Updated") == "True"
    assert world.fleet.node_log(EDGE, W1).reboots == 1


def test_a_node_that_never_returns_keeps_the_pool_updating_without_degraded() -> None:
    world = World()
    lost = world.faults.set(FaultId.NODE_NEVER_RETURNS, node=W1)
    world.edge.apply("machineconfigs", UNIT)
    world.run(4 * 3600)
    assert (world.condition("Updating"), world.condition("Degraded")) == ("True", "False")
    assert world.fleet.node_log(EDGE, W2).updates == ()
    world.faults.clear(lost)
    world.run(600)
    assert world.condition("Updated") == "True"


def test_a_node_that_failed_after_its_drain_is_still_cordoned_and_no_repair_reaches_it_without_hands() -> (
    None
):
    world = World()
    world.faults.set(FaultId.NODE_DEGRADED, when="after-drain")
    world.edge.apply(
        "machineconfigs", config("50-worker-x", files={"/x": "BROKEN"}, units={"a.service": "x"})
    )
    world.run(120)
    assert world.notes(W1)["state"] == "Degraded"
    assert world.node(W1)["spec"]["unschedulable"] is True
    world.edge.delete("machineconfigs", "50-worker-x")
    world.run(3600)
    assert world.condition("Updated") == "False"
    world.edge.uncordon(W1)
    world.run(300)
    assert world.condition("Updated") == "True"
    assert world.fleet.node_log(EDGE, W1).reboots == 0


def test_degraded_flaps_and_the_update_goes_through() -> None:
    world = World()
    world.faults.set(FaultId.DEGRADED_FLAP, node=W1, seconds=10, times=2)
    world.edge.apply("machineconfigs", UNIT)
    seen = set()
    for _ in range(30):
        world.run(3)
        seen.add(world.condition("Degraded"))
    world.run(600)
    assert seen == {"True", "False"}
    assert len(world.fleet.node_log(EDGE, W1).of(What.DEGRADED)) == 2
    assert world.condition("Updated") == "True"


def test_drift_degrades_a_node_with_equal_configs_and_is_never_overwritten() -> None:
    world = World()
    world.edge.apply("machineconfigs", CHRONY)
    world.run(120)
    drift = world.faults.set(FaultId.DRIFT, node=W1, path="/etc/*")
    world.run(5)
    notes = world.notes(W1)
    assert notes["state"] == "Degraded"
    assert notes["reason"] == 'content mismatch for file "/etc/chrony.conf"'
    assert notes["currentConfig"] == notes["desiredConfig"]
    world.edge.apply("machineconfigs", UNIT)
    world.run(1200)
    assert world.fleet.node_log(EDGE, W1).reboots == 0
    world.faults.clear(drift)
    world.run(1200)
    assert world.condition("Updated") == "True"


def test_a_node_that_is_reached_late_jumps_straight_to_the_newest_config() -> None:
    world = World()
    world.edge.apply("machineconfigs", UNIT)
    world.run(30)
    world.edge.apply("machineconfigs", CHRONY)
    world.run(1200)
    assert [len(world.fleet.node_log(EDGE, node).updates) for node in (W1, W2)] == [2, 1]


def test_a_cordoned_node_is_not_touched_and_uses_up_the_limit() -> None:
    world = World()
    world.edge.cordon(W2)
    world.edge.apply("machineconfigs", UNIT)
    world.run(3600)
    assert whats(world, W1) == whats(world, W2) == ["provisioned"]
    assert (world.condition("Updating"), world.condition("Degraded")) == ("True", "False")


def test_a_control_plane_reboot_darkens_the_gateway_for_as_long_as_it_takes() -> None:
    world = World()
    world.faults.set(FaultId.GATEWAY_DROPS_ON_REBOOT, cluster=EDGE, how="refused")
    world.edge.apply("machineconfigs", config("50-master-unit", "master", units={"a.service": "x"}))
    world.run(60)
    assert world.fleet.node_log(EDGE, M1).reboots == 1
    assert world.faults.active(FaultId.GATEWAY_GONE, EDGE, world.clock.now())
    world.run(120)
    assert not world.faults.active(FaultId.GATEWAY_GONE, EDGE, world.clock.now())
    assert world.condition("Updated", "master") == "True"


@pytest.mark.parametrize("seed", [1, 2])
def test_durations_are_drawn_by_the_seed_alone(seed: int) -> None:
    def finished(drawn: int) -> list[object]:
        options = NodeOptions(reboot=timedelta(seconds=60), jitter=0.5)
        world = World(with_nodes(options), seed=drawn)
        world.edge.apply("machineconfigs", UNIT)
        world.run(1200)
        return [event.at for event in world.fleet.node_log(EDGE, W1).of(What.DONE)]

    assert finished(seed) == finished(seed)
    assert finished(seed) != finished(seed + 10)


def test_a_merge_that_cannot_be_decoded_degrades_the_node_and_its_removal_mends_it() -> None:
    world = World()
    half = {"files": [{"path": "/etc/chrony.conf", "contents": {"compression": "gzip"}}]}
    world.edge.apply("machineconfigs", CHRONY)
    world.edge.apply("machineconfigs", config("60-worker-half", storage=half))
    world.run(120)
    assert world.fleet.failures == ()
    assert world.notes(W1)["state"] == "Degraded"
    assert "malformed gzip" in world.notes(W1)["reason"]
    world.edge.delete("machineconfigs", "60-worker-half")
    world.run(600)
    assert world.notes(W1)["state"] == "Done"
    assert world.fleet.machine(EDGE, W1).files == {"/etc/chrony.conf": b"pool"}
