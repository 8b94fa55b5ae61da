"""Plans of a whole fleet: what is known, what is not, what a human has to say, and what the servers say."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gitops_mc.app.use_cases.planning import ask_nobody
from gitops_mc.core.policy import Approval
from gitops_mc.core.render.lines import text_of
from gitops_mc.core.render.plan_text import plan_text
from gitops_mc.core.render.plan_words import headline, totals
from gitops_mc.core.rollout.memory import FleetMemory, WaveMemory
from gitops_mc.core.rollout.preview import Answer, ClusterPreview, FleetPreview
from gitops_mc.core.rollout.waves import contents_digest, lines
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.app.preview_world import PreviewWorld, look, planned
from tests.scenarios.rollout_world import RolloutWorld, machine_config, module


def cluster(found: FleetPreview, name: str) -> ClusterPreview:
    return next(c for c in found.clusters if c.name == name)


@pytest.fixture(scope="module")
def world() -> PreviewWorld:
    """Shared: nothing here writes to the fleet."""
    return PreviewWorld()


def test_a_plan_asks_and_changes_nothing(world: PreviewWorld) -> None:
    writes = {name: len(world.fleet.writes(name)) for name in ("global", "edge-1", "edge-2", "edge-5")}
    state = world.world.store.state
    found = world.plan()[1].preview
    assert {c.answer for c in cluster(found, "edge-1").checks.values()} == {Answer.ACCEPTED}
    assert {name: len(world.fleet.writes(name)) for name in writes} == writes
    assert world.world.store.state == state


def test_the_same_fleet_gives_the_same_digest_whoever_asks_and_whenever(world: PreviewWorld) -> None:
    first = world.plan()[1].preview
    world.world.clock.wait_for(600)
    assert world.plan()[1].preview.digest == first.digest
    assert world.plan(asking=ask_nobody)[1].preview.digest == first.digest
    assert world.plan(token=world.fleet.reader_token)[1].preview.digest == first.digest
    assert planned()[1].preview.digest == first.digest


def test_the_digest_is_of_the_clusters_that_were_asked_for(world: PreviewWorld) -> None:
    whole, one = world.plan()[1].preview, world.plan("edge-1")[1].preview
    assert [c.name for c in one.clusters] == ["edge-1"]
    assert one.digest != whole.digest
    assert cluster(one, "edge-1").plan == cluster(whole, "edge-1").plan


def test_a_read_only_token_can_plan_and_nothing_counts_as_checked(world: PreviewWorld) -> None:
    found = cluster(world.plan(token=world.fleet.reader_token)[1].preview, "edge-1")
    assert {check.answer for check in found.checks.values()} == {Answer.NOT_ASKED}
    assert not found.refused


def test_a_server_without_dry_run_has_not_been_asked(world: PreviewWorld) -> None:
    fault = world.world.faults.set(FaultId.DRY_RUN_REFUSED, cluster="edge-1")
    found = cluster(world.plan("edge-1")[1].preview, "edge-1")
    world.world.faults.clear(fault)
    machine = [check for (_, key), check in found.checks.items() if key.kind.value != "ModuleInfo"]
    assert {check.answer for check in machine} == {Answer.NOT_ASKED}


def test_what_a_server_refuses_is_a_refusal_of_the_plan(world: PreviewWorld) -> None:
    fault = world.world.faults.set(FaultId.HTTP_ERROR, cluster="edge-1", status=422, method="PATCH")
    found = cluster(world.plan("edge-1")[1].preview, "edge-1")
    world.world.faults.clear(fault)
    assert found.refused
    assert "refused by the server: " in text_of(
        plan_text(replace(planned()[1].preview, homeless=(found,), waves=()))
    )


def test_a_cluster_that_does_not_answer_is_unknown_and_delays_nobody(world: PreviewWorld) -> None:
    found = cluster(planned()[1].preview, "edge-3")
    assert (found.plan, found.changes, found.unknown) == (None, False, "no answer within 20 seconds")
    assert cluster(planned()[1].preview, "edge-1").changes


def test_without_the_global_cluster_every_cluster_is_unknown(world: PreviewWorld) -> None:
    fault = world.world.faults.set(FaultId.GATEWAY_GONE, cluster="global", how="refused")
    found = world.plan()[1].preview
    world.world.faults.clear(fault)
    assert all(c.unknown for c in found.clusters if not c.desired.blocked)


def test_lost_memory_is_first_contact_and_needs_approval_to_change_what_stands_there(
    world: PreviewWorld,
) -> None:
    kept, world.world.store.state = world.world.store.state, None
    try:
        found = world.plan()[1].preview
    finally:
        world.world.store.state = kept
    assert "first contact: " in cluster(found, "edge-1").approve
    assert "gitops-mc apply --approve edge-1" in text_of(plan_text(found))
    assert cluster(planned()[1].preview, "edge-1").approve == ""


def test_what_passed_content_created_is_an_orphan_and_no_deletion(world: PreviewWorld) -> None:
    found = cluster(planned()[1].preview, "edge-1")
    assert found.plan is not None
    assert [o.key.name for o in found.plan.kept] == ["80-worker-old"]
    assert not any(type(write).__name__ == "Delete" for write in found.plan.writes)


def test_a_wave_waits_for_approval_until_it_was_given_for_these_contents(world: PreviewWorld) -> None:
    world.world.files["clusters/edge-2/new.yaml"] = world.world.files["clusters/edge-5/first.yaml"]
    try:
        state = world.world.desired()
        rest = next(line for line in lines(state.policy, state.clusters)[0] if line.wave.name == "rest")
        assert rest.wave.approval is Approval.MANUAL
        digest = contents_digest(rest, {c.name: c for c in state.clusters})
        kept = world.world.store.state

        def needed(memory: WaveMemory) -> bool:
            def remember(fleet: FleetMemory) -> FleetMemory:
                return fleet.with_wave("rest", memory)

            world.world.remember(remember)
            waves = world.plan("edge-2", asking=ask_nobody)[1].preview.waves
            world.world.store.state = kept
            return waves[0].approve

        assert needed(WaveMemory(digest))
        assert not needed(WaveMemory(digest, approved=True))
        assert needed(WaveMemory("other contents", approved=True))
    finally:
        del world.world.files["clusters/edge-2/new.yaml"]


def test_estimates_add_up_by_the_width_of_a_wave() -> None:
    found = planned()[1].preview
    canary = found.waves[0]
    alone = canary.clusters[0].estimate
    assert alone == timedelta(minutes=40)
    three = replace(canary, clusters=canary.clusters * 3, at_once=2)
    assert three.estimate == 2 * alone + canary.line.wave.soak


def test_a_cluster_without_the_plugin_is_planned_and_its_machine_configs_are_not_checked() -> None:
    files = {
        "clusters/edge-1/module.yaml": module("edge-1"),
        "clusters/edge-1/motd.yaml": machine_config("50-worker-motd", files={"/etc/motd": "x"}),
    }
    found = look(RolloutWorld(simple_fleet("edge-1", machine_config=None), files=files))[1].preview
    answers = {key.kind.value: check.answer for (_, key), check in cluster(found, "edge-1").checks.items()}
    assert answers == {"ModuleInfo": Answer.ACCEPTED, "MachineConfig": Answer.NOT_ASKED}
    told = headline(cluster(found, "edge-1"))
    assert "not known before machine-config is installed" in told
    assert "at most 30m for module machine-config" in told, (
        "how long it takes nobody knows; its bound is known"
    )
    assert "no node" not in told, "what cannot be foreseen is no promise that nothing happens"
    assert "not known on 1 cluster" in totals(found)
