"""A repair of more than one step is judged by what it has reached, not by what it has still to be written to."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

from gitops_mc.core.rollout.moves import Done, Halted
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import FleetSpec, simple_fleet
from gitops_mc.sandbox.operator.controller import OperatorOptions
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, policy

BAD = machine_config("50-worker-app", files={"/etc/app.conf": "BROKEN\n"}, app_service=UNIT)
GOOD = machine_config("50-worker-app", files={"/etc/app.conf": "good\n"}, app_service=UNIT)


def test_a_pool_that_the_repair_is_not_written_to_yet_is_no_failure_of_the_repair() -> None:
    slow = OperatorOptions(policy_delay=timedelta(minutes=4))
    spec = FleetSpec(tuple(replace(c, operator=slow) for c in simple_fleet("edge-1").clusters))
    world = RolloutWorld(spec=spec, files={"clusters/edge-1/app.yaml": BAD})
    world.faults.set(FaultId.NODE_DEGRADED, when="before-drain")
    assert isinstance(world.run(), Halted)
    world.files["clusters/edge-1/app.yaml"] = GOOD
    world.files["clusters/edge-1/policy.yaml"] = policy({"/etc/x": "x.service"})
    assert isinstance(world.run(), Done)


def test_a_repair_that_waits_only_for_a_pool_to_stay_settled_is_waited_for() -> None:
    """A process that comes back looks for a while before it believes that pool master is settled; that is no end."""
    world = RolloutWorld(spec=simple_fleet("edge-1"), files={"clusters/edge-1/app.yaml": BAD})
    world.files["clusters/edge-1/master.yaml"] = machine_config(
        "50-master-app", "master", {"/etc/master.conf": "one\n"}
    )
    world.faults.set(FaultId.NODE_DEGRADED, when="before-drain")
    assert isinstance(world.run(), Halted)
    world.clock.wait_for(600)
    world.files["clusters/edge-1/app.yaml"] = GOOD
    assert isinstance(world.run(), Done)


def test_a_repair_that_waits_for_a_pool_that_somebody_else_rolls_is_waited_for() -> None:
    world = RolloutWorld(spec=simple_fleet("edge-1"), files={"clusters/edge-1/app.yaml": BAD})
    world.files["clusters/edge-1/master.yaml"] = machine_config(
        "50-master-app", "master", {"/etc/master.conf": "one\n"}
    )
    world.faults.set(FaultId.NODE_DEGRADED, when="before-drain")
    assert isinstance(world.run(), Halted)
    theirs = json.loads(machine_config("60-master-theirs", "master", None, theirs_service=UNIT))
    world.fleet.person("edge-1").apply("machineconfigs", theirs)
    world.clock.wait_for(60)
    world.files["clusters/edge-1/app.yaml"] = GOOD
    assert isinstance(world.run(), Done)
