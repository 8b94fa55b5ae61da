"""Clusters that are not fit to be written to: each is named with what is wrong, and none is touched."""

from __future__ import annotations

import json

from gitops_mc.core.rollout.moves import Done, Hold, Standing
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import FLEET, UNIT, RolloutWorld, machine_config

ONE = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
MORE = machine_config("60-worker-more", files={"/etc/more.conf": "one\n"}, app_service=UNIT)
TWO = machine_config("50-worker-app", files={"/etc/app.conf": "two\n"}, app_service=UNIT)


def made(*names: str, config: str = ONE, workers: int = 2) -> RolloutWorld:
    world = RolloutWorld(spec=simple_fleet(*names, workers=workers))
    world.files |= {f"clusters/{name}/app.yaml": config for name in names}
    return world


def test_unlabelled_workers_give_no_green_and_the_nodes_and_the_missing_label_are_named() -> None:
    world = RolloutWorld(spec=simple_fleet("edge-1", workers=2))
    world.files["clusters/edge-1/app.yaml"] = ONE
    person = world.fleet.person("edge-1")
    for node in ("edge-1-w1", "edge-1-w2"):
        person.label_node(node, **{"node-role.kubernetes.io/worker": None})
    world.clock.wait_for(120)
    outlook = world.run(hours=1)
    assert not isinstance(outlook, Done)
    assert world.standing("edge-1") is not Standing.PASSED
    told = world.view("edge-1").reason
    assert "edge-1-w1" in told
    assert "edge-1-w2" in told
    assert "node-role.kubernetes.io/worker" in told
    assert world.writes("edge-1") == ()
    for node in ("edge-1-w1", "edge-1-w2"):
        person.label_node(node, **{"node-role.kubernetes.io/worker": ""})
    world.clock.wait_for(120)
    assert isinstance(world.run(), Done)
    assert world.reboots("edge-1") == {"edge-1-w1": 1, "edge-1-w2": 1}


def test_one_node_that_joins_without_a_label_is_named_when_a_pool_is_empty_for_it() -> None:
    world = made("edge-1", workers=0)
    world.fleet.add_node("edge-1", "edge-1-stray", {})
    world.clock.wait_for(60)
    outlook = world.run(hours=1)
    assert not isinstance(outlook, Done)
    assert "edge-1-stray" in world.view("edge-1").reason
    assert world.writes("edge-1") == ()


def test_a_pool_sick_before_us_is_not_touched_and_named_with_its_node() -> None:
    world = made("edge-1", "edge-2")
    assert isinstance(world.run(), Done)
    world.fleet.person("edge-1").cordon("edge-1-w1")
    world.clock.wait_for(60)
    before = len(world.writes("edge-1"))
    world.files |= {f"clusters/{n}/app.yaml": TWO for n in ("edge-1", "edge-2")}
    outlook = world.run(hours=2)
    assert isinstance(outlook, Hold), outlook
    assert world.standing("edge-1") is Standing.BLOCKED
    told = world.view("edge-1").reason
    assert "pool worker" in told
    assert "edge-1-w1" in told
    assert len(world.writes("edge-1")) == before
    assert len(world.writes("edge-2")) == before, "and the next wave stays closed"
    world.fleet.person("edge-1").uncordon("edge-1-w1")
    world.clock.wait_for(60)
    assert isinstance(world.run(), Done)


def test_drift_on_a_node_before_us_blocks_its_cluster_and_is_named() -> None:
    world = made("edge-1")
    assert isinstance(world.run(), Done)
    drift = world.faults.set(FaultId.DRIFT, node="edge-1-w2")
    world.clock.wait_for(600)
    before = len(world.writes("edge-1"))
    world.files["clusters/edge-1/app.yaml"] = TWO
    world.run(hours=2)
    assert world.standing("edge-1") is Standing.BLOCKED
    assert "edge-1-w2" in world.view("edge-1").reason
    assert len(world.writes("edge-1")) == before
    world.faults.clear(drift)
    world.clock.wait_for(600)
    assert isinstance(world.run(), Done)


def test_a_paused_pool_is_named_and_never_unpaused_but_rolled_once_its_owner_lets_it_run() -> None:
    world = made("edge-1")
    assert isinstance(world.run(), Done)
    world.fleet.person("edge-1").pause("worker")
    world.clock.wait_for(60)
    before = len(world.writes("edge-1"))
    world.files["clusters/edge-1/app.yaml"] = TWO
    world.run(hours=3)
    assert "pool worker" in world.view("edge-1").reason
    assert "paused" in world.view("edge-1").reason
    assert len(world.writes("edge-1")) == before
    pool = world.fleet.person("edge-1").get("machineconfigpools", "worker")
    assert pool is not None
    assert pool["spec"]["paused"] is True
    world.fleet.person("edge-1").unpause("worker")
    world.clock.wait_for(60)
    assert isinstance(world.run(), Done)


def test_a_cluster_whose_phase_is_not_running_is_blocked_and_named() -> None:
    world = made("edge-1")
    world.fleet.set_phase("edge-1", "Upgrading")
    world.run(hours=1)
    assert world.standing("edge-1") is Standing.BLOCKED
    assert "Upgrading" in world.view("edge-1").reason
    assert world.writes("edge-1") == ()
    world.fleet.set_phase("edge-1", "Running")
    assert isinstance(world.run(), Done)


def test_a_folder_without_a_registered_cluster_is_named_and_costs_nothing() -> None:
    world = made("edge-1", "edge-2")
    world.files |= {f"clusters/nowhere{n}/app.yaml": ONE for n in ("", "-2", "-3", "-4")}
    assert isinstance(world.run(), Done)
    assert world.standing("nowhere") is Standing.UNREGISTERED
    assert "nowhere" in world.view("nowhere").reason
    assert "clusters.platform.tkestack.io" in world.view("nowhere").reason
    assert world.standing("edge-2") is Standing.PASSED


def test_a_cluster_in_no_wave_blocks_itself_alone_and_is_named() -> None:
    world = made("edge-1", "edge-2")
    world.files["fleet.yaml"] = world.files["fleet.yaml"].replace(
        "clusters: {}", "clusters: {names: [edge-9]}"
    )
    outlook = world.run(hours=1)
    assert isinstance(outlook, Hold), outlook
    assert world.standing("edge-1") is Standing.PASSED
    assert world.standing("edge-2") is Standing.BLOCKED
    assert "no wave" in world.view("edge-2").reason
    assert any("edge-2" in reason for reason in outlook.reasons)
    assert world.writes("edge-2") == ()


def test_a_cluster_without_machine_config_and_without_its_module_in_git_is_refused_with_the_way_out() -> None:
    world = RolloutWorld(spec=simple_fleet("edge-1", machine_config=None))
    world.files["clusters/edge-1/app.yaml"] = ONE
    world.run(hours=1)
    assert world.standing("edge-1") is Standing.BLOCKED
    assert "ModuleInfo machine-config" in world.view("edge-1").reason
    assert world.writes("edge-1") == ()
    assert world.writes("global") == ()


def test_a_manifest_that_would_give_a_default_pool_other_nodes_is_refused_before_anything_is_written() -> (
    None
):
    selector = {"matchLabels": {"node-role.kubernetes.io/anything": ""}}
    body = {
        "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
        "kind": "MachineConfigPool",
        "metadata": {"name": "worker"},
        "spec": {
            "machineConfigSelector": {"matchLabels": {"machineconfiguration.alauda.io/role": "worker"}},
            "nodeSelector": selector,
        },
    }
    world = RolloutWorld(spec=simple_fleet("edge-1"), files={"clusters/edge-1/pool.yaml": json.dumps(body)})
    world.run(hours=1)
    assert world.writes("edge-1") == ()
    assert world.standing("edge-1") in {Standing.BLOCKED, Standing.PROBLEMS}


def test_a_file_with_an_error_beside_what_has_passed_is_told_and_once_it_is_mended_it_is_rolled_out() -> None:
    """What cannot be read is no part of the content, which is the same as the one that has passed."""
    world = RolloutWorld(spec=simple_fleet("edge-1"), files={"clusters/edge-1/app.yaml": ONE})
    assert isinstance(world.run(), Done)
    before = world.writes("edge-1")
    world.files["clusters/edge-1/more.yaml"] = MORE.replace("MachineConfig", "MachineConfg")
    world.run()
    view = world.view("edge-1")
    assert view.standing is Standing.PROBLEMS
    assert "clusters/edge-1/more.yaml" in view.reason
    assert "MachineConfg" in view.reason
    assert world.writes("edge-1") == before
    world.files["clusters/edge-1/more.yaml"] = MORE
    assert isinstance(world.run(), Done)
    assert world.standing("edge-1") is Standing.PASSED
    assert len(world.writes("edge-1")) > len(before)


def test_a_file_with_an_error_in_the_folder_of_a_canary_that_has_passed_stops_nobody_else() -> None:
    """Nor does it begin the soak anew: the contents that soak are the same."""
    world = RolloutWorld(
        files={
            "fleet.yaml": FLEET.replace("{names: [edge-1]}", "{names: [edge-1]}\n        soak: 20m"),
            **{f"clusters/edge-{n}/app.yaml": ONE for n in (1, 2, 3)},
        }
    )
    world.run(until=lambda look: look.memory.waves["canary"].soak_since is not None)
    since = world.memory().waves["canary"].soak_since
    world.clock.wait_for(60)
    world.files["clusters/edge-1/more.yaml"] = MORE.replace("MachineConfig", "MachineConfg")
    world.run()
    assert world.standing("edge-1") is Standing.PROBLEMS
    assert {world.standing("edge-2"), world.standing("edge-3")} == {Standing.PASSED}
    assert world.memory().waves["canary"].soak_since == since
