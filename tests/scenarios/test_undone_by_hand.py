"""What a content wrote is changed or deleted by hand before the cluster has passed: that says nothing about the content."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from gitops_mc.app.looks import Pace
from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.acts import By, Changed, accept
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Done, Hold, Standing
from gitops_mc.sandbox.fleet import simple_fleet
from gitops_mc.sandbox.people import Person
from tests.scenarios.rollout_world import RolloutWorld, machine_config

NAME = "50-worker-app"


def _files(person: Person, *more: JsonObject) -> None:
    live = person.get("machineconfigs", NAME)
    assert live is not None
    ours: JsonObject = live["spec"]["config"]["storage"]["files"][0]
    person.edit("machineconfigs", NAME, {"spec": {"config": {"storage": {"files": [ours, *more]}}}})


def other_file(person: Person) -> None:
    _files(person, {"path": "/etc/hand", "mode": 420, "contents": {"source": "data:,hand"}})


def put_back(person: Person) -> None:
    _files(person)


def gone(person: Person) -> None:
    person.delete("machineconfigs", NAME)


def in_another_pool(person: Person) -> None:
    _role(person, "master")


def in_no_pool(person: Person) -> None:
    _role(person, None)


def _role(person: Person, role: str | None) -> None:
    labels = {"machineconfiguration.alauda.io/role": role}
    person.edit("machineconfigs", NAME, {"metadata": {"labels": labels}})


def commit(world: RolloutWorld, text: str) -> None:
    for name in ("edge-1", "edge-2"):
        world.files[f"clusters/{name}/app.yaml"] = machine_config(NAME, files={"/etc/app.conf": text})
        world.files[f"clusters/{name}/more.yaml"] = machine_config("50-worker-b", files={"/etc/b": text})


@pytest.fixture
def undone(request: pytest.FixtureRequest) -> RolloutWorld:
    """The canary is rolling the second commit when somebody puts a hand to it."""
    by_hand: Callable[[Person], None] = request.param
    world = RolloutWorld(spec=simple_fleet("edge-1", "edge-2"), pace=Pace(every=timedelta(seconds=10)))
    commit(world, "1\n")
    assert isinstance(world.run(), Done)
    commit(world, "2\n")
    world.run(until=lambda look: any("running again" in w.what for w in look.written))
    by_hand(world.fleet.person("edge-1"))
    return world


@pytest.mark.parametrize("undone", [other_file, gone, in_another_pool, in_no_pool], indirect=True)
def test_the_canary_has_not_passed_and_no_other_cluster_gets_the_content(undone: RolloutWorld) -> None:
    before = len(undone.writes("edge-2"))
    outlook = undone.run(hours=3)
    assert isinstance(outlook, Hold), outlook
    assert undone.standing("edge-1") is Standing.IN_FLIGHT
    for word in ("edge-1", NAME, "gitops-mc accept drift:MachineConfig/50-worker-app"):
        assert word in " ".join(outlook.reasons)
    assert len(undone.writes("edge-2")) == before
    again = undone.run(hours=3)
    assert isinstance(again, Hold), "it is not lost by running again"
    assert len(undone.writes("edge-2")) == before


@pytest.mark.parametrize("undone", [gone, in_no_pool], indirect=True)
def test_it_goes_on_where_a_human_says_that_gits_side_wins(undone: RolloutWorld) -> None:
    assert isinstance(undone.run(hours=3), Hold)

    def git_wins(memory: FleetMemory) -> FleetMemory:
        done = accept(memory, f"drift:MachineConfig/{NAME}", "edge-1", By("me", undone.clock.now()))
        assert isinstance(done, Changed)
        return done.memory

    undone.remember(git_wins)
    assert isinstance(undone.run(), Done)


@pytest.mark.parametrize("undone", [other_file], indirect=True)
def test_it_goes_on_where_the_hand_is_taken_back(undone: RolloutWorld) -> None:
    assert isinstance(undone.run(hours=3), Hold)
    put_back(undone.fleet.person("edge-1"))
    assert isinstance(undone.run(), Done)


@pytest.mark.parametrize("undone", [gone], indirect=True)
def test_newer_content_that_leaves_it_as_it_is_does_not_hide_it(undone: RolloutWorld) -> None:
    for name in ("edge-1", "edge-2"):
        undone.files[f"clusters/{name}/more.yaml"] = machine_config("50-worker-b", files={"/etc/b": "3\n"})
    before = len(undone.writes("edge-2"))
    assert isinstance(undone.run(hours=3), Hold)
    assert len(undone.writes("edge-2")) == before
