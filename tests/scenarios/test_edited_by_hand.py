"""Somebody edits a config of ours while its cluster is under way, and breaks the rendering by it: that is no trouble of ours.

Newer content that changes something else is not written over pools that it did not unsettle, and the content is not called
failed for what it does not say.
"""

from __future__ import annotations

import json

import pytest

from gitops_mc.core.rollout.acts import By, Changed, accept
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Done, Hold, Standing
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import RolloutWorld, machine_config, policy

NAME = "50-worker-app"
FILE = {"path": "/etc/app.conf", "mode": 420, "contents": {"source": "data:,one%0A"}}


def edit(world: RolloutWorld, *files: object) -> None:
    spec = {"config": {"storage": {"files": [*files]}}}
    world.fleet.person("edge-1").edit("machineconfigs", NAME, {"spec": spec})


@pytest.fixture
def edited() -> RolloutWorld:
    """Pool worker has what we wrote, pool master is next; somebody has put a file into our config twice."""
    world = RolloutWorld(spec=simple_fleet("edge-1", "edge-2"))
    for name in ("edge-1", "edge-2"):
        world.files[f"clusters/{name}/app.yaml"] = machine_config(NAME, files={"/etc/app.conf": "one\n"})
        world.files[f"clusters/{name}/master.yaml"] = machine_config(
            "50-master-app", "master", {"/etc/master.conf": "one\n"}
        )
    world.run(until=lambda look: any(m.step == "pools:master" for m in look.decision.moves))
    edit(world, FILE, FILE)
    world.clock.wait_for(60)
    return world


def policies(world: RolloutWorld) -> list[str]:
    return [w.name for w in world.writes("edge-1") if w.resource.startswith("machineconfigurations")]


def test_newer_content_is_not_written_over_what_somebody_else_has_broken(edited: RolloutWorld) -> None:
    before = len(edited.writes("edge-1"))
    edited.files["clusters/edge-1/policy.yaml"] = policy({"/etc/x": "x.service"})
    outlook = edited.run(hours=1)
    assert isinstance(outlook, Hold), outlook
    assert edited.standing("edge-1") is Standing.IN_FLIGHT
    assert f"parsing Ignition config of MachineConfig {NAME} failed" in edited.view("edge-1").reason
    assert any("pool worker of edge-1" in act for act in outlook.acts)
    assert len(edited.writes("edge-1")) == before
    assert edited.writes("edge-2") == ()

    edit(edited, FILE)
    edited.clock.wait_for(60)
    assert isinstance(edited.run(), Done)
    assert policies(edited) == ["cluster"]


def test_it_gets_in_where_a_human_has_said_that_gits_side_wins(edited: RolloutWorld) -> None:
    def git_wins(memory: FleetMemory) -> FleetMemory:
        by = By("me", edited.clock.now())
        done = accept(memory, f"drift:MachineConfig/{NAME}", "edge-1", by)
        assert isinstance(done, Changed)
        return done.memory

    config = json.loads(machine_config(NAME, files={"/etc/app.conf": "two\n"}))
    config["metadata"]["annotations"] = {"gitops-mc.io/adopt-from": "kubectl-edit"}
    edited.files["clusters/edge-1/app.yaml"] = json.dumps(config)
    edited.files["clusters/edge-1/policy.yaml"] = policy({"/etc/x": "x.service"})
    assert isinstance(edited.run(hours=1), Hold)
    edited.remember(git_wins)
    assert isinstance(edited.run(), Done)
    assert policies(edited) == ["cluster"]
