"""What humans may do to the memory: each act says what it changes, is kept, and one that changes nothing says why."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gitops_mc.core.diff import Written
from gitops_mc.core.gates import ModuleClocks, PoolClocks
from gitops_mc.core.model import Commit, Content, Kind
from gitops_mc.core.plan import drift_id
from gitops_mc.core.rollout import acts
from gitops_mc.core.rollout.memory import (
    KEPT_ACTS,
    Act,
    ClusterMemory,
    Failure,
    FailureCause,
    FleetMemory,
    Halt,
    InventoryEntry,
    Rollback,
    StepIntent,
    from_json,
    to_json,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
BY = acts.By("mei", NOW, "the disk was replaced")
OLD, BAD, NEW = Content("a" * 64), Content("b" * 64), Content("c" * 64)
CLOCKS = PoolClocks(terminal_since=NOW, progress_at=NOW, settled_since=NOW)


def failed(*subjects: str, begun: bool = True, cause: FailureCause = FailureCause.CONFIG) -> ClusterMemory:
    failure = Failure(BAD, cause, "pool worker: node w1 Degraded", NOW, dict.fromkeys(subjects, "x"))
    return ClusterMemory(
        started=BAD,
        started_commit=Commit("bad"),
        admitted_at=NOW,
        begun=begun,
        passed=OLD,
        passed_commit=Commit("old"),
        passed_at=NOW - timedelta(days=1),
        failure=failure,
        pool_clocks={"worker": CLOCKS, "master": CLOCKS},
        module_clocks={"logcenter": ModuleClocks(ready_since=NOW)},
        gate_since={"policy": NOW},
    )


def fleet(**clusters: ClusterMemory) -> FleetMemory:
    halted = tuple(n.replace("_", "-") for n, m in clusters.items() if m.failure is not None)
    halt = Halt("failed", NOW, halted) if halted else None
    return FleetMemory(clusters={n.replace("_", "-"): m for n, m in clusters.items()}, halt=halt)


def changed(result: acts.ActResult) -> acts.Changed:
    assert isinstance(result, acts.Changed), result
    return result


def unchanged(result: acts.ActResult) -> str:
    assert isinstance(result, acts.Unchanged), result
    return f"{result.reason} {result.hint}"


# ------------------------------------------------------------------------------------------------------- release


def test_a_release_lifts_the_hold_and_the_halt_and_restarts_the_clocks_of_what_failed_alone() -> None:
    found = changed(acts.release(fleet(edge_1=failed("pool:worker", "policy")), "edge-1", BY))
    after = found.memory.cluster("edge-1")
    assert after.failure is None
    assert found.memory.halt is None
    assert after.pool_clocks == {"worker": PoolClocks(), "master": CLOCKS}
    assert after.gate_since == {}
    assert after.module_clocks == {"logcenter": ModuleClocks(ready_since=NOW)}
    assert after.started == BAD, "it goes on with the same content"
    assert "edge-1 is no longer held" in found.said[0]
    assert "halt is lifted" in found.said[1]


def test_the_halt_stays_for_the_clusters_that_are_left_in_it() -> None:
    memory = fleet(edge_1=failed("pool:worker"), edge_2=failed("pool:worker"))
    found = changed(acts.release(memory, "edge-1", BY))
    assert found.memory.halt is not None
    assert found.memory.halt.clusters == ("edge-2",)
    assert found.memory.cluster("edge-2").failure is not None
    assert "the halt stays, for edge-2" in found.said[1]


def test_a_release_of_all_lifts_everything() -> None:
    memory = fleet(edge_1=failed("pool:worker"), edge_2=failed("module:logcenter"))
    found = changed(acts.release_all(memory, BY))
    assert found.memory.halt is None
    assert all(m.failure is None for m in found.memory.clusters.values())
    assert found.memory.cluster("edge-2").module_clocks == {"logcenter": ModuleClocks()}


def test_a_cluster_that_passed_late_is_only_in_the_halt_and_can_be_released() -> None:
    memory = replace(
        fleet(edge_1=ClusterMemory(started=BAD, passed=BAD)), halt=Halt("failed", NOW, ("edge-1",))
    )
    assert changed(acts.release(memory, "edge-1", BY)).memory.halt is None


def test_what_failed_before_anything_was_written_has_to_be_admitted_again() -> None:
    memory = fleet(edge_1=failed("module:logcenter", begun=False))
    after = changed(acts.release(memory, "edge-1", BY)).memory.cluster("edge-1")
    assert (after.started, after.started_commit) == (OLD, Commit("old"))
    assert after.out, "it stands where it stood before, outside the rollout"


def test_releasing_what_is_not_held_is_an_error_that_says_so() -> None:
    memory = fleet(edge_1=ClusterMemory(started=OLD))
    assert "has not failed" in unchanged(acts.release(memory, "edge-1", BY))
    assert "nothing is held" in unchanged(acts.release_all(memory, BY))
    assert "did you mean edge-1?" in unchanged(acts.release(memory, "edge1", BY))


# ---------------------------------------------------------------------------------------------------------- skip


def test_a_skip_is_bound_to_the_content_and_can_be_undone() -> None:
    found = changed(acts.skip(fleet(edge_1=ClusterMemory(started=OLD)), "edge-1", NEW, BY))
    assert found.memory.cluster("edge-1").skipped == NEW
    undone = changed(acts.unskip(found.memory, "edge-1", BY))
    assert undone.memory.cluster("edge-1").skipped is None
    assert "not skipped" in unchanged(acts.unskip(undone.memory, "edge-1", BY))


def test_a_skip_says_what_stays_open() -> None:
    open_step = replace(failed("pool:worker"), step=StepIntent(BAD, "pools:worker", ("worker",), NOW))
    said = " ".join(changed(acts.skip(fleet(edge_1=open_step), "edge-1", BAD, BY)).said)
    assert "step for pool worker stays open" in said
    assert "may keep it paused" in said
    assert "gitops-mc release edge-1" in said


def test_a_skip_of_what_is_skipped_or_has_passed_is_an_error() -> None:
    passed = ClusterMemory(started=NEW, passed=NEW, passed_at=NOW, admitted_at=NOW)
    memory = fleet(edge_1=ClusterMemory(skipped=NEW), edge_2=passed)
    assert "already" in unchanged(acts.skip(memory, "edge-1", NEW, BY))
    assert "has passed" in unchanged(acts.skip(memory, "edge-2", NEW, BY))


# -------------------------------------------------------------------------------------------------------- excuse


def test_an_excuse_has_a_reason_and_an_end_and_can_be_undone() -> None:
    until = NOW + timedelta(hours=24)
    found = changed(acts.excuse(fleet(edge_1=ClusterMemory()), "edge-1", "w1", until, BY))
    (kept,) = found.memory.cluster("edge-1").excused
    assert (kept.node, kept.reason, kept.until) == ("w1", "the disk was replaced", until)
    assert "like this already" in unchanged(acts.excuse(found.memory, "edge-1", "w1", until, BY))
    undone = changed(acts.unexcuse(found.memory, "edge-1", "w1", BY))
    assert undone.memory.cluster("edge-1").excused == ()
    assert "is not excused" in unchanged(acts.unexcuse(undone.memory, "edge-1", "w1", BY))


def test_a_second_excuse_of_a_node_takes_the_place_of_the_first_and_ended_ones_go() -> None:
    memory = fleet(edge_1=ClusterMemory())
    memory = changed(acts.excuse(memory, "edge-1", "w1", NOW + timedelta(hours=1), BY)).memory
    memory = changed(acts.excuse(memory, "edge-1", "w2", NOW + timedelta(hours=9), BY)).memory
    later = acts.By("mei", NOW + timedelta(hours=2), "again")
    memory = changed(acts.excuse(memory, "edge-1", "w2", NOW + timedelta(hours=20), later)).memory
    assert [(e.node, e.reason) for e in memory.cluster("edge-1").excused] == [("w2", "again")]


# -------------------------------------------------------------------------------------------------------- accept


def test_a_finding_that_stands_can_be_accepted_by_its_id_without_naming_the_cluster() -> None:
    memory = fleet(edge_1=ClusterMemory(pool_clocks={"worker": PoolClocks(mismatch="m-1")}))
    found = changed(acts.accept(memory, "m-1", None, BY))
    assert found.memory.cluster("edge-1").accepted == ("m-1",)
    assert "accepted already" in unchanged(acts.accept(found.memory, "m-1", None, BY))


def test_what_was_changed_by_hand_can_be_accepted_for_git_by_the_id_that_the_refusal_names() -> None:
    written = InventoryEntry(Kind.MACHINE_CONFIG, "50-a", Written("d", "u", "50-a"))
    memory = fleet(edge_1=ClusterMemory(inventory=(written,)), edge_2=ClusterMemory(inventory=(written,)))
    wanted = drift_id(written.key("edge-1"))
    assert "edge-1, edge-2" in unchanged(acts.accept(memory, wanted, None, BY))
    found = changed(acts.accept(memory, wanted, "edge-1", BY))
    assert found.memory.cluster("edge-1").accepted == (wanted,)
    assert found.memory.cluster("edge-2").accepted == ()
    assert "50-a of edge-1" in found.said[0]
    assert "accepted already" in unchanged(acts.accept(found.memory, wanted, "edge-1", BY))
    unchanged(acts.accept(memory, "drift:MachineConfig/51-b", "edge-1", BY))


def test_a_finding_that_does_not_stand_is_not_accepted_ahead() -> None:
    memory = fleet(edge_1=ClusterMemory(pool_clocks={"worker": PoolClocks(mismatch="m-1")}))
    assert "m-1 (edge-1)" in unchanged(acts.accept(memory, "m-2", None, BY))
    assert "nothing is remembered of a cluster edge-9" in unchanged(acts.accept(memory, "m-1", "edge-9", BY))


def test_a_finding_that_two_clusters_show_needs_the_cluster() -> None:
    shown = ClusterMemory(pool_clocks={"worker": PoolClocks(mismatch="m-1")})
    memory = fleet(edge_1=shown, edge_2=shown)
    assert "edge-1, edge-2" in unchanged(acts.accept(memory, "m-1", None, BY))
    after = changed(acts.accept(memory, "m-1", "edge-2", BY)).memory
    assert after.cluster("edge-1").accepted == ()
    assert after.cluster("edge-2").accepted == ("m-1",)


# ----------------------------------------------------------------------------------------------------------- log


def test_who_did_what_when_and_why_is_kept_through_the_store() -> None:
    memory = changed(acts.skip(fleet(edge_1=ClusterMemory()), "edge-1", NEW, BY)).memory
    kept = from_json(to_json(memory))
    assert kept.acts == (Act(NOW, "mei", "skip edge-1", "the disk was replaced"),)


def test_the_log_keeps_the_last_acts_only() -> None:
    memory = FleetMemory()
    for n in range(KEPT_ACTS + 5):
        memory = acts.approved(memory, f"wave-{n}", BY)
    assert len(memory.acts) == KEPT_ACTS
    assert memory.acts[-1].what == f"apply --approve wave-{KEPT_ACTS + 4}"


def test_a_memory_written_before_there_was_a_log_is_read() -> None:
    state = to_json(FleetMemory())
    del state["acts"]
    assert from_json(state).acts == ()


@pytest.mark.parametrize("ahead", [timedelta(hours=-1), timedelta(0), timedelta(hours=1)])
def test_an_act_is_never_before_what_is_remembered(ahead: timedelta) -> None:
    memory = FleetMemory(clock=NOW + ahead)
    assert acts.moment(memory, NOW) == NOW + max(ahead, timedelta(0))


# --------------------------------------------------------------------------------------- retry, rollback, forget


def rolled_back() -> ClusterMemory:
    m = failed("pool:worker")
    assert m.failure is not None
    back = Rollback(m.failure, m.started_commit, OLD, Commit("old"), NOW)
    return replace(m, failure=None, started=OLD, begun=False, passed_at=NOW, rollback=back)


def test_a_retry_begins_the_clocks_anew_and_leaves_the_halt_to_the_others() -> None:
    memory = fleet(edge_1=failed("pool:worker"), edge_2=failed("pool:worker"))
    found = changed(acts.retry(memory, "edge-1", BY))
    after = found.memory.cluster("edge-1")
    assert (after.failure, after.retrying, after.started) == (None, True, BAD)
    assert after.pool_clocks["worker"] == PoolClocks()
    assert found.memory.halt == memory.halt
    assert "the halt stays" in found.said[1]
    assert found.memory.acts[-1].what == "retry edge-1"


def test_a_retry_of_what_was_rolled_back_lets_the_held_content_in_again() -> None:
    after = changed(acts.retry(fleet(edge_1=rolled_back()), "edge-1", BY)).memory.cluster("edge-1")
    assert (after.rollback, after.retrying, after.started) == (None, True, OLD)


def test_a_release_of_what_was_rolled_back_lets_it_in_again_and_lifts_the_halt() -> None:
    memory = replace(fleet(edge_1=rolled_back()), halt=Halt("failed", NOW, ("edge-1",)))
    found = changed(acts.release(memory, "edge-1", BY))
    assert found.memory.cluster("edge-1").rollback is None
    assert found.memory.halt is None
    assert "is no longer held on edge-1" in found.said[0]
    assert changed(acts.release_all(memory, BY)).memory.halt is None


def test_a_rollback_is_wished_for_with_who_and_kept_until_it_is_carried_out() -> None:
    found = changed(acts.rollback(fleet(edge_1=failed("pool:worker")), "edge-1", BY))
    after = found.memory.cluster("edge-1")
    assert after.rollback is not None
    assert (after.rollback.to, after.rollback.failed.content, after.rollback.by) == (OLD, BAD, "mei")
    assert after.started == BAD, "the rollout itself assigns it"
    assert "goes back to content aaaaaaaaaaaa (commit old)" in found.said[0]
    assert changed(acts.release(found.memory, "edge-1", BY)).memory.cluster("edge-1").rollback is None


@pytest.mark.parametrize(
    ("memory", "told"),
    [
        (ClusterMemory(started=OLD), "it has not failed"),
        (failed("module:x", cause=FailureCause.MODULE), "it has failed for a module"),
        (failed("pool:worker", cause=FailureCause.FOREIGN), "not of our content"),
        (replace(failed("pool:worker"), passed=None), "it has never passed another content"),
        (replace(failed("pool:worker"), started=NEW), "newer content is being written"),
        (rolled_back(), "it is rolled back already"),
    ],
)
def test_what_cannot_go_back_says_why(memory: ClusterMemory, told: str) -> None:
    assert told in unchanged(acts.rollback(fleet(edge_1=memory), "edge-1", BY))
    assert "no cluster has failed" in unchanged(acts.rollback_all(fleet(edge_1=memory), BY))


def test_all_that_can_go_back_do() -> None:
    memory = fleet(edge_1=failed("pool:worker"), edge_2=failed("module:x", cause=FailureCause.MODULE))
    found = changed(acts.rollback_all(memory, BY))
    assert found.memory.cluster("edge-1").rollback is not None
    assert found.memory.cluster("edge-2").rollback is None


def test_who_forgets_a_cluster_in_mid_roll_is_told_that_others_may_start_beside_it() -> None:
    rolls = ClusterMemory(started=Content("c1"), begun=True, touched=("gpu", "worker"))
    said = changed(acts.forget(fleet(edge_1=rolls), "edge-1", BY)).said
    assert "pools gpu, worker may still roll" in " ".join(said)
    said = changed(
        acts.forget(fleet(edge_1=replace(rolls, passed=Content("c1"), passed_at=NOW)), "edge-1", BY)
    ).said
    assert "roll" not in " ".join(said)


def test_what_is_forgotten_is_gone_but_for_the_halt_it_is_in() -> None:
    memory = fleet(edge_1=failed("pool:worker"), edge_2=ClusterMemory(started=OLD))
    found = changed(acts.forget(memory, "edge-1", BY))
    assert list(found.memory.clusters) == ["edge-2"]
    assert found.memory.halt == memory.halt
    assert "the halt stays" in found.said[1]
    assert "edge-9" in unchanged(acts.forget(memory, "edge-9", BY))


def test_a_state_of_before_these_members_is_read_and_one_with_them_comes_back_as_it_was() -> None:
    memory = fleet(edge_1=rolled_back())
    state = to_json(memory)
    assert from_json(state) == memory
    for name in ("rollback", "retrying", "before", "before_commit", "overtaken", "hurried", "overridden"):
        del state["clusters"]["edge-1"][name]
    assert from_json(state).cluster("edge-1") == replace(rolled_back(), rollback=None)
