"""Objects that others made, edits by hand, lost memory and lost marks: nothing reboots, everything is said."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

from gitops_mc.core.diff import Adopt
from gitops_mc.core.model import JsonObject
from gitops_mc.core.plan import ClusterPlan
from gitops_mc.core.rollout.inputs import Acts
from gitops_mc.core.rollout.moves import Done, Hold, Standing
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config, policy

APPROVED = Acts(approved=frozenset({"edge-1"}))
ONE = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
TWO = machine_config("50-worker-app", files={"/etc/app.conf": "two\n"}, app_service=UNIT)
OTHER = machine_config("60-worker-more", files={"/etc/more.conf": "x\n"})


def body(text: str, encoded: str | None = None) -> JsonObject:
    """What somebody with kubectl would have sent for our manifest: contents as a data URL."""
    found: JsonObject = json.loads(text)
    for file in found["spec"]["config"].get("storage", {}).get("files", ()):
        inline = file["contents"].pop("inline")
        file["contents"]["source"] = encoded or f"data:,{quote(inline)}"
    return found


def made(config: str = ONE) -> RolloutWorld:
    world = RolloutWorld(spec=simple_fleet("edge-1", workers=2))
    world.files["clusters/edge-1/app.yaml"] = config
    return world


def by_hand(world: RolloutWorld, text: str, encoded: str | None = None) -> None:
    world.fleet.person("edge-1").apply("machineconfigs", body(text, encoded))
    world.clock.wait_for(1200)


def plan_of(world: RolloutWorld) -> ClusterPlan:
    found = world.view("edge-1").plan
    assert found is not None
    return found


def live(world: RolloutWorld, name: str = "50-worker-app") -> dict[str, Any]:
    found = world.fleet.person("edge-1").get("machineconfigs", name)
    assert found is not None
    return found


def asks_first(world: RolloutWorld, *named: str) -> None:
    """It waits for a human, says about what, and has written nothing."""
    writes, reboots = len(world.writes("edge-1")), world.reboots("edge-1")
    outlook = world.run(hours=1)
    assert isinstance(outlook, Hold), outlook
    assert "apply --approve edge-1" in world.view("edge-1").reason
    for name in named:
        assert name in world.view("edge-1").reason
    assert "--approve edge-1" in world.view("edge-1").reason
    assert len(world.writes("edge-1")) == writes
    assert world.reboots("edge-1") == reboots


def test_pure_additions_ask_nobody() -> None:
    world = made()
    world.files["clusters/edge-1/policy.yaml"] = policy({"/etc/app.conf": "app.service"})
    assert isinstance(world.run(), Done)


@pytest.mark.parametrize(
    "encoded",
    [None, "data:;base64," + base64.b64encode(b"one\n").decode(), "data:text/plain;charset=utf-8,one%0a"],
    ids=["as we would write it", "in base64", "in another percent-encoding"],
)
def test_equal_values_made_by_kubectl_are_taken_over_after_a_yes_and_nothing_rolls(
    encoded: str | None,
) -> None:
    world = made()
    by_hand(world, ONE, encoded)
    before = live(world)["spec"]
    asks_first(world, "MachineConfig 50-worker-app")
    adoption = next(iter(plan_of(world).writes))
    assert isinstance(adoption, Adopt)
    assert "kubectl-client-side-apply" in adoption.managers
    assert any("kubectl-client-side-apply" in note for note in plan_of(world).notes), "that it stays co-owner"
    reboots = world.reboots("edge-1")
    assert isinstance(world.run(APPROVED), Done)
    assert live(world)["spec"] == before, "adoption takes no value change, not even of spelling"
    assert live(world)["metadata"]["labels"]["gitops-mc.io/fleet"] == "test"
    assert world.reboots("edge-1") == reboots


def test_other_values_made_by_kubectl_are_a_conflict_that_names_who_and_how_to_take_over() -> None:
    world = made(TWO)
    by_hand(world, ONE)
    reboots = world.reboots("edge-1")
    world.run(APPROVED, hours=1)
    assert world.standing("edge-1") is Standing.BLOCKED
    told = world.view("edge-1").reason
    assert "50-worker-app" in told
    assert "kubectl-client-side-apply" in told
    assert "gitops-mc.io/adopt-from" in told
    assert world.writes("edge-1") == ()
    assert world.reboots("edge-1") == reboots
    manifest = json.loads(TWO)
    manifest["metadata"]["annotations"] = {"gitops-mc.io/adopt-from": "kubectl-client-side-apply"}
    world.files["clusters/edge-1/app.yaml"] = json.dumps(manifest)
    asks_first(world, "MachineConfig 50-worker-app")
    assert isinstance(world.run(APPROVED), Done)
    source = live(world)["spec"]["config"]["storage"]["files"][0]["contents"]["source"]
    assert base64.b64decode(source.removeprefix("data:;base64,")) == b"two\n"


def test_an_emergency_edit_is_listed_and_left_alone_while_git_does_not_change_it() -> None:
    world = made()
    assert isinstance(world.run(), Done)
    emergency(world)
    reboots, writes = world.reboots("edge-1"), len(world.writes("edge-1"))
    assert isinstance(world.run(), Done), "the same commit"
    assert [str(d.key) for d in plan_of(world).drifts] == ["edge-1/MachineConfig/50-worker-app"]
    assert "kubectl-edit" in plan_of(world).drifts[0].reason
    assert len(world.writes("edge-1")) == writes
    world.files["clusters/edge-1/more.yaml"] = OTHER
    assert isinstance(world.run(), Done), "a commit that changes something else"
    assert world.reboots("edge-1") == reboots
    assert "emergency" in live(world)["spec"]["config"]["storage"]["files"][0]["contents"]["source"]
    assert [str(d.key) for d in plan_of(world).drifts] == ["edge-1/MachineConfig/50-worker-app"]


def emergency(world: RolloutWorld) -> None:
    config = body(ONE, "data:,emergency%0A")["spec"]["config"]
    world.fleet.person("edge-1").edit("machineconfigs", "50-worker-app", {"spec": {"config": config}})
    world.clock.wait_for(1200)


def test_a_commit_that_changes_what_was_edited_by_hand_is_refused_until_a_side_is_taken() -> None:
    world = made()
    assert isinstance(world.run(), Done)
    emergency(world)
    reboots, writes = world.reboots("edge-1"), len(world.writes("edge-1"))
    world.files["clusters/edge-1/app.yaml"] = TWO
    world.run(hours=1)
    assert world.standing("edge-1") is Standing.BLOCKED
    told = world.view("edge-1").reason
    assert "50-worker-app" in told
    assert "kubectl-edit" in told
    assert "which side wins" in told
    assert len(world.writes("edge-1")) == writes
    assert world.reboots("edge-1") == reboots
    world.files["clusters/edge-1/app.yaml"] = machine_config(
        "50-worker-app", files={"/etc/app.conf": "emergency\n"}, app_service=UNIT
    )
    assert isinstance(world.run(), Done), "the live values went into Git"
    assert world.reboots("edge-1") == reboots


@pytest.mark.parametrize("changed", [False, True], ids=["as Git says", "Git has moved on"])
def test_lost_memory_is_first_contact_and_reboots_nothing(changed: bool) -> None:  # noqa: FBT001 - a case
    world = made()
    world.files["clusters/edge-1/policy.yaml"] = policy({"/etc/app.conf": "app.service"})
    assert isinstance(world.run(), Done)
    reboots, writes = world.reboots("edge-1"), len(world.writes("edge-1"))
    world.store.state = None
    if changed:
        world.files["clusters/edge-1/app.yaml"] = TWO
        asks_first(world, "MachineConfig 50-worker-app")
        assert isinstance(world.run(APPROVED), Done)
        return
    assert isinstance(world.run(), Done), "nothing to change, so nothing to ask"
    assert world.reboots("edge-1") == reboots
    assert len(world.writes("edge-1")) == writes
    assert {e.name for e in world.cluster_memory("edge-1").inventory} == {"50-worker-app", "cluster"}


@pytest.mark.parametrize("memory", ["kept", "lost"])
def test_lost_labels_and_annotations_are_told_and_reboot_nothing(memory: str) -> None:
    world = made()
    assert isinstance(world.run(), Done)
    world.fleet.person("edge-1").edit(
        "machineconfigs",
        "50-worker-app",
        {
            "metadata": {
                "labels": {"gitops-mc.io/fleet": None},
                "annotations": {"gitops-mc.io/applied": None},
            }
        },
    )
    reboots = world.reboots("edge-1")
    if memory == "lost":
        world.store.state = None
        world.run(hours=1)
        assert world.reboots("edge-1") == reboots
        assert isinstance(world.run(APPROVED), Done)
    else:
        assert isinstance(world.run(), Done)
        assert [str(d.key) for d in plan_of(world).drifts] == ["edge-1/MachineConfig/50-worker-app"]
        world.files["clusters/edge-1/more.yaml"] = OTHER
        assert isinstance(world.run(), Done)
    assert world.reboots("edge-1") == reboots


def test_a_config_deleted_by_hand_is_told_and_not_made_again_while_git_stays() -> None:
    world = made()
    world.files["clusters/edge-1/more.yaml"] = OTHER
    assert isinstance(world.run(), Done)
    world.fleet.person("edge-1").delete("machineconfigs", "60-worker-more")
    world.clock.wait_for(900)
    reboots = world.reboots("edge-1")
    writes = len(world.writes("edge-1"))
    world.run()
    assert "60-worker-more" in str(plan_of(world).drifts)
    assert len(world.writes("edge-1")) == writes
    assert world.reboots("edge-1") == reboots


def test_our_object_in_another_encoding_by_hand_is_told_and_the_next_change_keeps_the_live_bytes() -> None:
    world = made()
    assert isinstance(world.run(), Done)
    config = body(ONE, "data:,one%0A")["spec"]["config"]
    world.fleet.person("edge-1").edit("machineconfigs", "50-worker-app", {"spec": {"config": config}})
    world.clock.wait_for(600)
    reboots, writes = world.reboots("edge-1"), len(world.writes("edge-1"))
    assert isinstance(world.run(), Done)
    assert "taken over by kubectl-edit" in plan_of(world).drifts[0].reason
    assert len(world.writes("edge-1")) == writes
    world.files["clusters/edge-1/app.yaml"] = machine_config(
        "50-worker-app", files={"/etc/app.conf": "one\n", "/etc/b.conf": "b\n"}, app_service=UNIT
    )
    world.run()
    sources = {f["path"]: f["contents"]["source"] for f in live(world)["spec"]["config"]["storage"]["files"]}
    assert sources["/etc/app.conf"] == "data:,one%0A"
    assert world.reboots("edge-1") == reboots


def test_additions_that_have_not_passed_yet_approve_no_change_of_what_stood_there() -> None:
    world = made()
    assert isinstance(world.run(), Done)
    world.store.state = None
    del world.files["clusters/edge-1/app.yaml"]
    world.files["clusters/edge-1/more.yaml"] = OTHER
    writes = len(world.writes("edge-1"))
    world.run(until=lambda look: look.memory.cluster("edge-1").started is not None)
    assert len(world.writes("edge-1")) == writes, "it is admitted: additions ask nobody"
    world.files["clusters/edge-1/app.yaml"] = TWO
    world.run(until=lambda look: look.memory.cluster("edge-1").passed is not None)
    assert "one" in base64_of(live(world))
    assert world.cluster_memory("edge-1").passed is None
    assert "apply --approve edge-1" in world.view("edge-1").reason
    assert isinstance(world.run(APPROVED), Done)
    assert "two" in base64_of(live(world))


def base64_of(config: JsonObject) -> str:
    source = config["spec"]["config"]["storage"]["files"][0]["contents"]["source"]
    return base64.b64decode(source.removeprefix("data:;base64,")).decode()
