"""A canary that fails: production untouched, unrelated commits change nothing of that, the repair goes through."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from gitops_mc.app.looks import Pace
from gitops_mc.core.render.plan_words import totals
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Done, Halted, Standing
from gitops_mc.core.rollout.preview import preview
from gitops_mc.sandbox.faults import FaultId
from gitops_mc.sandbox.fleet import simple_fleet
from tests.scenarios.rollout_world import UNIT, RolloutWorld, machine_config

GOOD = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"}, app_service=UNIT)
BAD = machine_config("50-worker-app", files={"/etc/app.conf": "BROKEN\n"}, app_service=UNIT)
FIXED = machine_config("50-worker-app", files={"/etc/app.conf": "fixed\n"}, app_service=UNIT)
OTHER = machine_config("60-master-other", role="master", files={"/etc/other.conf": "x\n"})


def repository(config: str) -> dict[str, str]:
    return {f"clusters/edge-{n}/app.yaml": config for n in (1, 2, 3)}


def failed(when: str = "before-drain") -> RolloutWorld:
    world = RolloutWorld(files=repository(GOOD))
    world.faults.set(FaultId.NODE_DEGRADED, when=when)
    assert isinstance(world.run(), Done)
    world.files.update(repository(BAD))
    outlook = world.run()
    assert isinstance(outlook, Halted), outlook
    return world


def test_a_degraded_canary_halts_the_rollout_and_no_other_cluster_is_written_for() -> None:
    world = RolloutWorld(files=repository(GOOD))
    world.faults.set(FaultId.NODE_DEGRADED)
    assert isinstance(world.run(), Done)
    before = {n: len(world.writes(f"edge-{n}")) for n in (2, 3)}
    world.files.update(repository(BAD))
    outlook = world.run()
    assert isinstance(outlook, Halted)
    assert "edge-1" in outlook.reason
    assert "edge-1-w" in outlook.reason
    assert {n: len(world.writes(f"edge-{n}")) for n in (2, 3)} == before
    assert world.standing("edge-1") is Standing.FAILED


def test_an_unrelated_commit_inherits_the_failure_and_opens_nothing() -> None:
    world = failed()
    before = {n: len(world.writes(f"edge-{n}")) for n in (1, 2, 3)}
    for n in (1, 2, 3):
        world.files[f"clusters/edge-{n}/other.yaml"] = OTHER
    assert isinstance(world.run(hours=2), Halted)
    assert {n: len(world.writes(f"edge-{n}")) for n in (1, 2, 3)} == before
    assert world.standing("edge-1") is Standing.FAILED


def test_the_repair_goes_through_the_halt_and_then_everywhere() -> None:
    world = failed()
    world.files.update(repository(FIXED))
    outlook = world.run()
    assert isinstance(outlook, Done), outlook
    assert world.memory().halt is None
    for n in (1, 2, 3):
        assert world.standing(f"edge-{n}") is Standing.PASSED


def test_a_revert_is_a_repair() -> None:
    world = failed()
    world.files.update(repository(GOOD))
    assert isinstance(world.run(), Done)


def test_where_the_operator_cannot_move_the_node_the_message_says_which_one_needs_hands() -> None:
    world = failed(when="after-drain")
    world.files.update(repository(FIXED))
    world.run(hours=3)
    said = " ".join(look.decision.clusters[0].reason for look in world.looks)
    assert "repair written, node edge-1-w" in said
    assert "needs hands" in said
    assert "kubectl" in said


def test_a_release_lets_the_same_content_try_again_and_it_fails_again() -> None:
    world = failed()

    def release(memory: FleetMemory) -> FleetMemory:
        edge = replace(memory.cluster("edge-1"), failure=None, pool_clocks={})
        return replace(memory.with_cluster("edge-1", edge), halt=None)

    world.remember(release)
    assert isinstance(world.run(), Halted)
    assert world.standing("edge-1") is Standing.FAILED


def test_a_repair_that_never_reaches_its_node_ends_as_a_failure_that_a_human_can_act_on() -> None:
    world = failed()
    world.pace = Pace(every=timedelta(seconds=30))
    world.faults.set(FaultId.DEGRADED_NOT_RETARGETED)
    world.files.update(repository(FIXED))
    outlook = world.run(hours=6)
    assert isinstance(outlook, Halted), outlook
    assert "edge-1-w" in world.view("edge-1").reason


def test_a_node_that_drifts_while_we_roll_is_named_and_is_no_failure_of_the_content() -> None:
    world = RolloutWorld(files=repository(GOOD))
    assert isinstance(world.run(), Done)
    world.files["clusters/edge-1/app.yaml"] = FIXED
    world.pace = Pace(every=timedelta(seconds=20))
    drift = world.faults.set(FaultId.DRIFT, cluster="edge-1", node="edge-1-m1")
    world.files["clusters/edge-1/master.yaml"] = OTHER
    world.run(hours=1)
    assert world.standing("edge-1") is not Standing.FAILED
    assert "edge-1-m1" in world.view("edge-1").reason
    world.faults.clear(drift)


def test_a_repair_of_two_groups_writes_the_second_only_when_the_first_has_settled() -> None:
    def both(text: str) -> dict[str, str]:
        return {
            f"clusters/edge-1/{role}.yaml": machine_config(
                f"50-{role}-app", role, files={"/etc/app.conf": text}
            )
            for role in ("worker", "master")
        }

    world = RolloutWorld(spec=simple_fleet("edge-1", workers=8), files=both("one\n"))
    world.faults.set(FaultId.NODE_DEGRADED)
    assert isinstance(world.run(), Done)
    world.files.update(both("BROKEN\n"))
    assert isinstance(world.run(), Halted)
    repaired_from = world.last.at
    world.files.update(both("fixed\n"))
    assert isinstance(world.run(), Done)
    (second,) = [
        w.time for w in world.writes("edge-1") if w.time > repaired_from and w.name == "50-master-app"
    ]
    workers = [n for n in world.fleet.nodes("edge-1") if "-w" in n]
    last = max(
        e.at for n in workers for e in world.fleet.node_log("edge-1", n).events if e.at > repaired_from
    )
    assert last < second


def test_a_repair_that_drains_and_reboots_a_degraded_node_is_waited_for() -> None:
    world = RolloutWorld()
    world.files.update(repository(BAD))
    world.faults.set(FaultId.NODE_DEGRADED)
    assert isinstance(world.run(), Halted)
    world.files.update(repository(BAD.replace("BROKEN", "fine")))
    outlook = world.run()
    assert isinstance(outlook, Done), outlook
    assert world.memory().halt is None
    assert world.reboots("edge-1") == {"edge-1-w1": 1, "edge-1-w2": 1}


def test_a_plan_says_by_whom_the_rollout_is_halted() -> None:
    world = failed()
    seen = preview(world.git(), world.memory(), world.last.live, world.clock.now())
    assert "halted by edge-1: only what repairs that is begun" in totals(seen)


def test_what_opens_after_all_withdraws_the_failure_and_leaves_the_halt_to_a_human() -> None:
    world = failed()
    world.faults.clear_all()
    world.clock.wait(world.clock.now() + timedelta(minutes=10))
    outlook = world.run(hours=3)
    assert world.cluster_memory("edge-1").failure is None
    assert isinstance(outlook, Halted), outlook
    assert "opened after all; the halt stays until somebody lifts it" in outlook.reason
    assert world.writes("edge-2")[-1].time < world.clock.now() - timedelta(minutes=10), "nothing new is begun"
