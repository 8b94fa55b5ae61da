"""What a canary got is changed or deleted by hand while its wave soaks: the soak proves nothing about the content then."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from gitops_mc.app.looks import Pace
from gitops_mc.core.model import JsonObject
from gitops_mc.core.rollout.acts import By, Changed, accept
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Done, Hold, Standing, WaveState
from gitops_mc.sandbox.fleet import simple_fleet
from gitops_mc.sandbox.people import Person
from tests.scenarios.rollout_world import FLEET, RolloutWorld, machine_config, policy

NAME = "50-worker-app"
OLD = "50-worker-old"
SOAK = timedelta(minutes=30)
SOAKING = FLEET.replace(
    "        clusters: {names: [edge-1]}\n", "        clusters: {names: [edge-1]}\n        soak: 30m\n"
)


def other_text(person: Person, name: str = NAME) -> None:
    live = person.get("machineconfigs", name)
    assert live is not None
    ours: JsonObject = live["spec"]["config"]["storage"]["files"][0]
    edited = {**ours, "contents": {"source": "data:,by%20hand"}}
    person.edit("machineconfigs", name, {"spec": {"config": {"storage": {"files": [edited]}}}})


def gone(person: Person) -> None:
    person.delete("machineconfigs", NAME)


def labelled(person: Person) -> None:
    person.edit("machineconfigs", NAME, {"metadata": {"annotations": {"team": "night shift"}}})


def commit(world: RolloutWorld, text: str) -> None:
    for name in ("edge-1", "edge-2"):
        world.files[f"clusters/{name}/old.yaml"] = machine_config(OLD, files={"/etc/old.conf": "1\n"})
        world.files[f"clusters/{name}/app.yaml"] = machine_config(NAME, files={"/etc/app.conf": text})


def soaking(world: RolloutWorld) -> bool:
    return any(w.wave == "canary" and w.soak_left for w in world.last.decision.waves)


@pytest.fixture
def world() -> RolloutWorld:
    """The first commit is everywhere; the second soaks on the canary."""
    world = RolloutWorld(
        spec=simple_fleet("edge-1", "edge-2"),
        files={"fleet.yaml": SOAKING},
        pace=Pace(every=timedelta(seconds=20)),
    )
    commit(world, "1\n")
    assert isinstance(world.run(), Done)
    commit(world, "2\n")
    world.run(until=lambda _: soaking(world) and world.standing("edge-1") is Standing.PASSED)
    return world


def test_the_soak_without_a_hand_is_what_it_was(world: RolloutWorld) -> None:
    began = world.clock.now()
    assert isinstance(world.run(), Done)
    assert SOAK <= world.clock.now() - began < 2 * SOAK


@pytest.mark.parametrize("by_hand", [other_text, gone])
def test_no_other_cluster_gets_the_content_and_it_says_whose_hand_is_needed(
    world: RolloutWorld, by_hand: Callable[[Person], None]
) -> None:
    by_hand(world.fleet.person("edge-1"))
    before = len(world.writes("edge-2"))
    outlook = world.run(hours=6)
    assert isinstance(outlook, Hold), outlook
    assert "gitops-mc accept drift:MachineConfig/50-worker-app --cluster edge-1" in " ".join(outlook.reasons)
    assert "gitops-mc skip edge-1" in " ".join(outlook.acts)
    again = world.run(hours=6)
    assert isinstance(again, Hold), "it is not lost by running again"
    assert len(world.writes("edge-2")) == before


def test_the_last_moment_of_the_soak_counts_too(world: RolloutWorld) -> None:
    world.run(until=lambda look: look.decision.waves[0].soak_left <= timedelta(seconds=30))
    assert soaking(world)
    other_text(world.fleet.person("edge-1"))
    world.clock.wait_for(60)  # nobody looks while the soak ends
    before = len(world.writes("edge-2"))
    assert isinstance(world.run(hours=6), Hold)
    assert len(world.writes("edge-2")) == before


def test_taken_back_the_whole_soak_begins_anew(world: RolloutWorld) -> None:
    person = world.fleet.person("edge-1")
    live = person.get("machineconfigs", NAME)
    assert live is not None
    other_text(person)
    assert isinstance(world.run(hours=6), Hold)
    person.edit("machineconfigs", NAME, {"spec": live["spec"]})
    began = world.clock.now()
    world.run(until=lambda _: soaking(world))
    assert isinstance(world.run(), Done)
    assert world.clock.now() - began >= SOAK


def test_gits_side_is_written_again_where_a_human_says_so_and_then_soaks(world: RolloutWorld) -> None:
    gone(world.fleet.person("edge-1"))
    assert isinstance(world.run(hours=6), Hold)
    _git_wins(world)
    began = world.clock.now()
    assert isinstance(world.run(), Done)
    assert world.clock.now() - began >= SOAK
    assert world.fleet.person("edge-1").get("machineconfigs", NAME) is not None


def test_gits_side_cannot_win_over_a_manager_that_git_does_not_name(world: RolloutWorld) -> None:
    other_text(world.fleet.person("edge-1"))
    assert isinstance(world.run(hours=6), Hold)
    _git_wins(world)
    before = len(world.writes("edge-1")), len(world.writes("edge-2"))
    outlook = world.run(hours=6)
    assert isinstance(outlook, Hold), outlook
    assert "conflicts with other field managers" in " ".join(outlook.reasons)
    assert (len(world.writes("edge-1")), len(world.writes("edge-2"))) == before


def test_what_was_accepted_for_one_hand_does_not_hold_for_a_later_one(world: RolloutWorld) -> None:
    assert isinstance(world.run(), Done)
    _git_wins(world)
    assert isinstance(world.run(), Done)
    other_text(world.fleet.person("edge-1"))
    before = len(world.writes("edge-1"))
    assert isinstance(world.run(), Done)
    assert len(world.writes("edge-1")) == before


@pytest.mark.parametrize("by_hand", [labelled, lambda person: other_text(person, OLD)])
def test_a_hand_on_what_the_content_did_not_change_is_listed_and_holds_nothing(
    world: RolloutWorld, by_hand: Callable[[Person], None]
) -> None:
    by_hand(world.fleet.person("edge-1"))
    assert isinstance(world.run(), Done)


def test_entries_of_the_policy_that_another_owner_only_moved_hold_nothing(world: RolloutWorld) -> None:
    for name in ("edge-1", "edge-2"):
        world.files[f"clusters/{name}/policy.yaml"] = policy({"/etc/a": "a.service", "/etc/b": "b.service"})
    world.run(until=lambda _: soaking(world) and world.standing("edge-1") is Standing.PASSED)
    person = world.fleet.person("edge-1")
    live = person.get("machineconfigurations", "cluster")
    assert live is not None
    files = live["spec"]["nodeDisruptionPolicy"]["files"]
    person.edit(
        "machineconfigurations", "cluster", {"spec": {"nodeDisruptionPolicy": {"files": files[::-1]}}}
    )
    assert isinstance(world.run(), Done)
    after = person.get("machineconfigurations", "cluster")
    assert after is not None
    assert after["spec"]["nodeDisruptionPolicy"]["files"] == files[::-1]


def test_newer_content_that_leaves_it_as_it_is_does_not_hide_it(world: RolloutWorld) -> None:
    other_text(world.fleet.person("edge-1"))
    assert isinstance(world.run(hours=6), Hold)
    for name in ("edge-1", "edge-2"):
        world.files[f"clusters/{name}/old.yaml"] = machine_config(OLD, files={"/etc/old.conf": "2\n"})
    before = len(world.writes("edge-2"))
    assert isinstance(world.run(hours=6), Hold)
    assert len(world.writes("edge-2")) == before


def test_after_the_soak_a_hand_on_the_canary_stops_no_other_cluster(world: RolloutWorld) -> None:
    world.run(until=lambda look: look.decision.waves[0].state is WaveState.DONE)
    labelled(world.fleet.person("edge-1"))
    other_text(world.fleet.person("edge-1"))
    assert isinstance(world.run(), Done)


def _git_wins(world: RolloutWorld) -> None:
    def accepted(memory: FleetMemory) -> FleetMemory:
        done = accept(memory, f"drift:MachineConfig/{NAME}", "edge-1", By("me", world.clock.now()))
        assert isinstance(done, Changed)
        return done.memory

    world.remember(accepted)
