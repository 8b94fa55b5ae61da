"""What a human may do about a failure: lift its hold, have it tried again, go back to what passed before."""

from __future__ import annotations

from dataclasses import replace

from gitops_mc.core.gates import ModuleClocks, PoolClocks
from gitops_mc.core.rollout.acting import ActResult, By, Changed, Unchanged, no_such_cluster, short
from gitops_mc.core.rollout.gating import module_of_clock
from gitops_mc.core.rollout.memory import ClusterMemory, Failure, FleetMemory, Rollback
from gitops_mc.core.rollout.rollback import asked_for, can_be_asked_for, goal_of, named_content


def release(memory: FleetMemory, cluster: str, by: By) -> ActResult:
    """Lift the hold of one cluster's failure, or of what it was rolled back from, and the halt when no other cluster is left in it.

    The clocks of what failed begin anew, so it has its whole time again; the same content may fail again.
    """
    halted = memory.halt is not None and cluster in memory.halt.clusters
    if cluster not in memory.clusters and not halted:
        return no_such_cluster(memory, cluster)
    m = memory.cluster(cluster)
    if m.failure is None and not m.rolled_back and not halted:
        return Unchanged(
            f"nothing of cluster {cluster} is held: it has not failed",
            "gitops-mc status shows what is waited for",
        )
    after, said = _freed(memory, cluster)
    return Changed(after.with_act(by.act(f"release {cluster}")), said)


def release_all(memory: FleetMemory, by: By) -> ActResult:
    """Lift every hold, and the halt."""
    halted = () if memory.halt is None else memory.halt.clusters
    held = sorted(
        {*halted, *(name for name, m in memory.clusters.items() if m.failure is not None or m.rolled_back)}
    )
    if not held and memory.halt is None:
        return Unchanged(
            "nothing is held, and nothing is halted", "gitops-mc status shows what is waited for"
        )
    said: list[str] = []
    after = memory
    for name in held:
        after, told = _freed(after, name)
        said += told
    if after.halt is not None:
        after, said = replace(after, halt=None), [*said, "the halt is lifted"]
    return Changed(after.with_act(by.act("release --all")), tuple(said))


def _freed(memory: FleetMemory, cluster: str) -> tuple[FleetMemory, tuple[str, ...]]:
    said: list[str] = []
    m = memory.cluster(cluster)
    if m.failure is not None:
        what = ", ".join(sorted(m.failure.subjects)) or "what failed"
        said.append(
            f"{cluster} is no longer held; the clocks of {what} begin anew ({short(m.failure.content)})"
        )
        memory = memory.with_cluster(cluster, _unfailed(m, m.failure))
    elif m.rollback is not None and m.rolled_back:
        said.append(_unheld(cluster, m.rollback))
        memory = memory.with_cluster(cluster, replace(m, rollback=None))
    if memory.halt is None:
        return memory, tuple(said)
    left = tuple(name for name in memory.halt.clusters if name != cluster)
    if left == memory.halt.clusters:
        return memory, tuple(said)
    if left:
        said.append(f"the halt stays, for {', '.join(left)}: gitops-mc release {left[0]}, or --all")
        return replace(memory, halt=replace(memory.halt, clusters=left)), tuple(said)
    return replace(memory, halt=None), (*said, "the halt is lifted: writes go on with the next apply")


def _unfailed(m: ClusterMemory, failure: Failure) -> ClusterMemory:
    """Without the failure. What failed before anything was written goes back to where it was before it was admitted:
    it has to be admitted again, in its wave.
    """
    subjects = frozenset(failure.subjects)
    pools = {p: PoolClocks() if f"pool:{p}" in subjects else c for p, c in m.pool_clocks.items()}
    modules = {
        k: ModuleClocks() if f"module:{module_of_clock(k)}" in subjects else c
        for k, c in m.module_clocks.items()
    }
    since = {gate: at for gate, at in m.gate_since.items() if gate not in subjects}
    kept = m.rollback if m.rolled_back else None  # the wish to go back ends with what it came from
    free = replace(m, failure=None, rollback=kept, pool_clocks=pools, module_clocks=modules, gate_since=since)
    if m.begun:
        return free
    return replace(free, started=m.passed, started_commit=m.passed_commit, admitted_at=m.passed_at, step=None)


def _unheld(cluster: str, rollback: Rollback) -> str:
    failed = named_content(rollback.failed.content, rollback.failed_commit)
    return f"content {failed} is no longer held on {cluster}: where Git still has it, it is started there once more"


# --------------------------------------------------------------------------------------------------------- retry


def retry(memory: FleetMemory, cluster: str, by: By) -> ActResult:
    """Have one cluster try once more what failed there, its clocks anew, and that through the halt. The halt stays for every
    other, until this one has passed.
    """
    if cluster not in memory.clusters:
        return no_such_cluster(memory, cluster)
    m = memory.cluster(cluster)
    if m.failure is None and not m.rolled_back:
        return Unchanged(f"cluster {cluster} has not failed, so there is nothing to try again")
    if m.failure is not None:
        after = _unfailed(m, m.failure)
        said = [
            f"{cluster} tries content {short(m.failure.content)} once more; the clocks of what failed begin anew"
        ]
    else:
        assert m.rollback is not None
        after, said = replace(m, rollback=None), [_unheld(cluster, m.rollback)]
    if memory.halt is not None:
        said.append("the halt stays: no other cluster begins anything until this one has passed")
    after = replace(after, retrying=True)
    return Changed(memory.with_cluster(cluster, after).with_act(by.act(f"retry {cluster}")), tuple(said))


# ------------------------------------------------------------------------------------------------------ rollback


def rollback(memory: FleetMemory, cluster: str, by: By) -> ActResult:
    """Have one cluster go back to what it passed last, after its pools failed with newer content."""
    if cluster not in memory.clusters:
        return no_such_cluster(memory, cluster)
    if why := can_be_asked_for(memory.cluster(cluster)):
        return Unchanged(f"cluster {cluster} is not rolled back: {why}", f"gitops-mc why {cluster}")
    after, told = _asked(memory, cluster, by)
    return Changed(after.with_act(by.act(f"rollback {cluster}")), (told,))


def rollback_all(memory: FleetMemory, by: By) -> ActResult:
    """The same for every cluster that can go back."""
    names = [name for name, m in memory.clusters.items() if m.failure and not can_be_asked_for(m)]
    if not names:
        return Unchanged("no cluster has failed with content from which it could go back")
    said = []
    for name in names:
        memory, told = _asked(memory, name, by)
        said.append(told)
    return Changed(memory.with_act(by.act("rollback --all")), tuple(said))


def _asked(memory: FleetMemory, cluster: str, by: By) -> tuple[FleetMemory, str]:
    m = memory.cluster(cluster)
    goal = goal_of(m)
    assert goal is not None
    assert m.failure is not None
    after = asked_for(m, m.failure, goal, by)
    told = f"{cluster} goes back to content {named_content(*goal)}; content {short(m.failure.content)} is held, and the halt stays"
    return memory.with_cluster(cluster, after), told
