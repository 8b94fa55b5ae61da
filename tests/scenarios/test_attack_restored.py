"""A cluster is restored from a backup, after it has passed: what we wrote since stands there as we wrote it before."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from gitops_mc.app.api import RESOURCES
from gitops_mc.app.ports import APPLY_PATCH, Request
from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.acts import By, Changed, accept
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Done, Standing
from gitops_mc.core.rollout.preview import preview
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import RolloutWorld, machine_config

NAME = "50-worker-app"
DRIFT = f"drift:MachineConfig/{NAME}"


def commit(world: RolloutWorld, text: str) -> None:
    for name in ("edge-1", "edge-2"):
        world.files[f"clusters/{name}/app.yaml"] = machine_config(NAME, files={"/etc/app.conf": text})


def live(world: RolloutWorld) -> JsonObject:
    found = world.fleet.person("edge-1").get("machineconfigs", NAME)
    assert found is not None
    return found


@pytest.fixture
def restored() -> RolloutWorld:
    """The second commit has passed everywhere; edge-1 stands as the first one left it: values, owners, and our mark."""
    world = RolloutWorld(spec=simple_fleet("edge-1", "edge-2"))
    commit(world, "1\n")
    assert isinstance(world.run(), Done)
    earlier = live(world)
    commit(world, "2\n")
    assert isinstance(world.run(), Done)
    meta = {field: earlier["metadata"][field] for field in ("name", "labels", "annotations")}
    request = Request(
        "PATCH",
        RESOURCES["MachineConfig"].item(NAME),
        (("fieldManager", "gitops-mc"), ("force", "true")),
        json.dumps({**earlier, "metadata": meta}).encode(),
        APPLY_PATCH,
        token=world.fleet.token,
    )
    assert world.fleet.servers["edge-1"].handle(request).status == 200
    assert live(world)["spec"] == earlier["spec"]
    world.clock.wait(world.clock.now() + timedelta(minutes=20))  # the nodes follow
    return world


def test_the_plan_tells_it_as_drift_and_lists_no_write_that_apply_would_not_make(
    restored: RolloutWorld,
) -> None:
    before = {name: len(restored.writes(name)) for name in ("edge-1", "edge-2")}
    assert isinstance(restored.run(), Done)
    assert {name: len(restored.writes(name)) for name in before} == before
    memory = restored.memory()
    fleet = restored.executor().with_past(restored.git(), memory)
    shown = preview(fleet, memory, restored.last.live, restored.clock.now(), None)
    (edge, _) = shown.clusters
    assert edge.plan is not None
    assert [*edge.plan.writes] == []
    (drift,) = edge.plan.drifts
    assert drift.key.name == NAME
    assert "set back" in drift.reason


def test_where_a_human_says_that_gits_side_wins_it_is_rolled_again(restored: RolloutWorld) -> None:
    def git_wins(memory: FleetMemory) -> FleetMemory:
        done = accept(memory, DRIFT, "edge-1", By("me", restored.clock.now()))
        assert isinstance(done, Changed)
        return done.memory

    assert isinstance(restored.run(), Done)
    before = live(restored)["spec"]
    restored.remember(git_wins)
    assert isinstance(restored.run(), Done)
    assert live(restored)["spec"] != before
    assert restored.standing("edge-1") is Standing.PASSED


def test_newer_content_of_the_object_is_written_over_it(restored: RolloutWorld) -> None:
    commit(restored, "3\n")
    assert isinstance(restored.run(), Done)
    assert restored.standing("edge-1") is Standing.PASSED
    assert "3" in json.dumps(live(restored)["spec"])
