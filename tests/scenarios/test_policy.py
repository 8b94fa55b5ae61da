"""The node disruption policy: in force before what relies on it is written, taken away after."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from gitops_mc.core.rollout.moves import Done, Halted, Standing
from gitops_mc.sandbox.apiserver import AcceptedWrite
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import RolloutWorld, machine_config, policy

CHRONY, SYSCTL = "/etc/chrony.conf", "/etc/sysctl.d/90-net.conf"


def config(text: str, path: str = CHRONY) -> str:
    return machine_config("50-worker-time", files={path: text})


def made(**files: str) -> RolloutWorld:
    world = RolloutWorld(spec=simple_fleet("edge-1", workers=2))
    put(world, **files)
    return world


def put(world: RolloutWorld, **files: str) -> None:
    world.files |= {f"clusters/edge-1/{name}.yaml": text for name, text in files.items()}


def writes(world: RolloutWorld, plural: str) -> list[AcceptedWrite]:
    return [w for w in world.writes("edge-1") if w.resource.startswith(f"{plural}.")]


def in_force(body: dict[str, Any] | None) -> list[str]:
    status = (body or {}).get("status", {}).get("nodeDisruptionPolicyStatus", {}).get("clusterPolicies", {})
    return [f["path"] for f in status.get("files", ())]


def shown_at(world: RolloutWorld, path: str) -> datetime:
    """When the server first showed the policy of a file in status."""
    for write in world.fleet.servers["edge-1"].writes:
        if write.resource.startswith("machineconfigurations.") and path in in_force(write.after):
            return write.time
    raise AssertionError(f"{path} never showed")


def actions(world: RolloutWorld) -> set[str]:
    return {a for n in world.fleet.nodes("edge-1") for a in world.fleet.node_log("edge-1", n).actions}


@pytest.mark.parametrize("late", [1.0, 300.0])
def test_no_config_is_written_before_its_policy_shows_in_status(late: float) -> None:
    world = made(policy=policy({CHRONY: "chronyd.service"}), time=config("one\n"))
    world.faults.set(FaultId.POLICY_LATE, seconds=late)
    assert isinstance(world.run(), Done)
    first = writes(world, "machineconfigs")[0]
    assert first.time > shown_at(world, CHRONY)
    assert first.time - world.start >= timedelta(seconds=late)
    assert world.reboots("edge-1") == {}
    assert actions(world) == {"Restart chronyd.service"}
    put(  # and again, for a change
        world,
        policy=policy({CHRONY: "chronyd.service", SYSCTL: "systemd-sysctl.service"}),
        sysctl=machine_config("51-worker-sysctl", files={SYSCTL: "net.a = 1\n"}),
    )
    before = len(writes(world, "machineconfigs"))
    assert isinstance(world.run(), Done)
    assert writes(world, "machineconfigs")[before].time > shown_at(world, SYSCTL)
    assert actions(world) == {"Restart chronyd.service", "Restart systemd-sysctl.service"}


def test_a_policy_that_never_shows_fails_with_its_name_and_no_config_is_written() -> None:
    world = made(policy=policy({CHRONY: "chronyd.service"}), time=config("one\n"))
    world.faults.set(FaultId.POLICY_LATE, seconds=360000.0)
    world.pace = type(world.pace)(every=timedelta(seconds=30))
    outlook = world.run()
    assert isinstance(outlook, Halted), outlook
    assert CHRONY in outlook.reason
    assert "clusterPolicies" in outlook.reason
    assert writes(world, "machineconfigs") == []


def test_entries_that_go_stay_until_the_configs_are_through_and_what_comes_is_there_before() -> None:
    world = made(policy=policy({CHRONY: "chronyd.service"}), time=config("one\n"))
    assert isinstance(world.run(), Done)
    before = len(writes(world, "machineconfigurations"))
    configs = len(writes(world, "machineconfigs"))
    put(world, policy=policy({SYSCTL: "systemd-sysctl.service"}), time=config("net.a = 1\n", SYSCTL))
    assert isinstance(world.run(), Done)
    lists = [
        sorted(f["path"] for f in (w.after or {})["spec"]["nodeDisruptionPolicy"]["files"])
        for w in writes(world, "machineconfigurations")[before:]
    ]
    assert lists == [[CHRONY, SYSCTL], [SYSCTL]]
    union, final = (w.time for w in writes(world, "machineconfigurations")[before:])
    moved = writes(world, "machineconfigs")[configs].time
    nodes_done = max(
        e.at for n in world.fleet.nodes("edge-1") for e in world.fleet.node_log("edge-1", n).events
    )
    assert union < shown_at(world, SYSCTL) < moved < nodes_done < final
    assert world.reboots("edge-1") == {}
    assert actions(world) == {"Restart chronyd.service", "Restart systemd-sysctl.service"}
    count = len(world.writes("edge-1"))
    assert isinstance(world.run(), Done)
    assert len(world.writes("edge-1")) == count


def test_entries_that_only_go_are_one_write_and_another_owners_entry_stays() -> None:
    world = made(policy=policy({CHRONY: "chronyd.service", SYSCTL: "systemd-sysctl.service"}))
    entry = {"path": "/etc/theirs.conf", "actions": [{"type": "None"}]}
    spec = world.fleet.person("edge-1").get("machineconfigurations", "cluster")
    assert spec is not None
    world.fleet.person("edge-1").edit(
        "machineconfigurations",
        "cluster",
        {"spec": {"nodeDisruptionPolicy": {**spec["spec"]["nodeDisruptionPolicy"], "files": [entry]}}},
    )
    world.clock.wait_for(60)
    assert isinstance(world.run(), Done)
    before = len(writes(world, "machineconfigurations"))
    put(world, policy=policy({CHRONY: "chronyd.service"}))
    assert isinstance(world.run(), Done)
    made_now = writes(world, "machineconfigurations")[before:]
    assert len(made_now) == 1
    final = (made_now[0].after or {})["spec"]["nodeDisruptionPolicy"]["files"]
    assert sorted(f["path"] for f in final) == [CHRONY, "/etc/theirs.conf"]
    assert world.standing("edge-1") is Standing.PASSED
