"""The memory is lost, or restored from an older copy, in the middle of a step: what stands open in a cluster is seen there, and
takes its place among those that are disrupted at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gitops_mc.app.looks import Look
from gitops_mc.core.model import GLOBAL_CLUSTER, annotations_of
from gitops_mc.core.rollout.inputs import Acts
from gitops_mc.core.rollout.moves import Done, Hold, Standing
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

APPROVED = Acts(approved=frozenset({"edge-1"}))
ONE_WAVE = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  rollout:
    waves:
      - {name: all, clusters: {}, maxConcurrent: %d}
"""


def world_of(*names: str, at_once: int = 1, files: int = 2) -> RolloutWorld:
    world = RolloutWorld(spec=simple_fleet(*names, workers=2))
    world.files["fleet.yaml"] = ONE_WAVE % at_once
    commit(world, "one\n", files, *names)
    return world


def commit(world: RolloutWorld, text: str, files: int, *names: str) -> None:
    """Several configs are one bracketed step; a single one is written without a bracket."""
    for name in names:
        for number in range(files):
            path, unit = f"clusters/{name}/{number}.yaml", UNIT + f"# {text}"
            world.files[path] = machine_config(
                f"5{number}-worker-app", "worker", None, **{f"app{number}_service": unit}
            )


def written(cluster: str) -> Callable[[Look], bool]:
    """Until a pass that has something of the configs written."""
    return lambda look: any(m.cluster == cluster and type(m).__name__ == "Apply" for m in look.decision.moves)


def paused_by_us(world: RolloutWorld, cluster: str) -> bool:
    pool = world.fleet.person(cluster).get("machineconfigpools", "worker")
    assert pool is not None
    return "gitops-mc.io/bracket" in annotations_of(pool)


def forgotten_in_a_step(world: RolloutWorld) -> None:
    """edge-1 stands in the middle of a step, and nothing remembers it."""
    world.run(until=written("edge-1"))
    assert paused_by_us(world, "edge-1")
    world.store.state = None


@pytest.mark.parametrize(
    ("other", "at_once"), [("edge-2", 1), (GLOBAL_CLUSTER, 2)], ids=["another", "global, which rolls alone"]
)
def test_a_step_that_stands_open_keeps_its_place_until_a_human_has_approved_it(
    other: str, at_once: int
) -> None:
    world = world_of("edge-1", other, at_once=at_once)
    forgotten_in_a_step(world)
    outlook = world.run(hours=1)
    assert isinstance(outlook, Hold), outlook
    assert any("--approve edge-1" in act for act in outlook.acts)
    assert "keeps its place" in world.view("edge-1").reason
    assert world.writes(other) == ()
    assert isinstance(world.run(APPROVED), Done)
    assert set(world.reboots("edge-1").values()) == {1}
    assert world.standing(other) is Standing.PASSED


@pytest.mark.parametrize("seconds", [0, 60], ids=["as soon as it is written", "while a node is down"])
def test_nodes_that_are_still_to_get_what_we_wrote_keep_a_place_until_they_have_it(seconds: int) -> None:
    world = world_of("edge-1", "edge-2", files=1)
    world.run(until=lambda _: bool(world.writes("edge-1")))
    world.store.state = None
    world.clock.wait_for(seconds)
    assert isinstance(world.run(hours=1), Hold)
    assert "keeps its place" in world.view("edge-1").reason
    assert world.writes("edge-2") == ()
    world.clock.wait_for(1200)
    assert isinstance(world.run(), Done)
    assert world.writes("edge-2")


def test_who_has_what_we_wrote_keeps_none_whatever_else_is_done_to_its_nodes() -> None:
    world = world_of("edge-1", "edge-2", files=1)
    world.run(until=lambda look: look.memory.cluster("edge-1").out)
    world.store.state = None
    world.fleet.person("edge-1").cordon("edge-1-w1")
    world.clock.wait_for(60)
    assert isinstance(world.run(hours=1), Hold)
    assert world.standing("edge-1") is Standing.BLOCKED
    assert world.standing("edge-2") is Standing.PASSED


def test_where_git_has_problems_for_such_a_cluster_somebody_is_told_and_nobody_waits_in_vain() -> None:
    world = world_of("edge-1", "edge-2")
    forgotten_in_a_step(world)
    world.files["clusters/edge-1/typo.yaml"] = "kind: [\n"
    outlook = world.run(hours=1)
    assert isinstance(outlook, Hold), outlook
    assert any("edge-1" in act for act in outlook.acts)
    assert world.writes("edge-2") == ()


def test_a_skip_frees_the_place() -> None:
    world = world_of("edge-1", "edge-2")
    forgotten_in_a_step(world)
    assert isinstance(world.run(hours=1), Hold)
    state = world.store.load()
    assert state is not None
    content = world.view("edge-1").content
    state["clusters"]["edge-1"]["skipped"] = content
    world.store.save(json.loads(json.dumps(state)))
    assert isinstance(world.run(), Done)
    assert world.standing("edge-2") is Standing.PASSED


@pytest.mark.parametrize("newer", ["one\n", "two\n", "three\n"], ids=["taken back", "as it was", "newer"])
def test_a_memory_from_before_the_step_ends_it_first(newer: str) -> None:
    """Whatever Git says by then, and although edge-1 is not the first in the line."""
    world = world_of("edge-1", "edge-2")
    world.files["fleet.yaml"] = """\
apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: test}
spec:
  rollout:
    waves:
      - {name: first, clusters: {names: [edge-2]}}
      - {name: rest, clusters: {}}
"""
    assert isinstance(world.run(), Done)
    before = world.store.state
    commit(world, "two\n", 2, "edge-1", "edge-2")
    world.run(until=written("edge-1"))
    assert paused_by_us(world, "edge-1")
    world.store.state = before
    commit(world, newer, 2, "edge-1", "edge-2")
    seen = len(world.writes("edge-2"))
    world.run(until=lambda look: not look.memory.cluster("edge-1").step and not paused_by_us(world, "edge-1"))
    assert len(world.writes("edge-2")) == seen, "edge-2 was begun beside an open step"
    assert isinstance(world.run(), Done)
    assert not paused_by_us(world, "edge-1")
