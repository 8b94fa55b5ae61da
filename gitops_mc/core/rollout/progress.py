"""How far a cluster has come with the content it was started with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gitops_mc.core.diff.comparison import ORDER
from gitops_mc.core.gates import STANDING_STILL, Counting, Unsettled
from gitops_mc.core.model import FLEET_LABEL, DesiredCluster
from gitops_mc.core.plan import Circumstances, ClusterPlan, StepKind, drift_id, make_plan, title_of
from gitops_mc.core.rollout.case import Assessment, Case, circumstances, gates_of
from gitops_mc.core.rollout.failures import any_failed, failure_of, refused_write
from gitops_mc.core.rollout.gating import GateBook, managed_pools, watched_pools
from gitops_mc.core.rollout.inventory import unsent, with_inventory
from gitops_mc.core.rollout.memory import ClusterMemory, Failure, FailureCause, ObjectName
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.next_step import (
    REFUSED,
    Act,
    Await,
    Finished,
    Next,
    Position,
    marked_pools,
    next_step,
)
from gitops_mc.core.rollout.repairs import repairable
from gitops_mc.core.rollout.rollback import blind_to_modules, named_content
from gitops_mc.core.rollout.timing import window_for
from gitops_mc.core.rollout.transitions import failed

_LABEL = "metadata.labels."


def progress(case: Case, desired: DesiredCluster) -> Assessment:
    """How far the started content has come."""
    memory = case.memory
    plan = make_plan(desired, case.live, case.policy, _past(case, memory))
    managed = managed_pools(desired, case.live, memory.touched)
    gates = gates_of(case, desired, managed)
    memory = with_inventory(gates.memory, desired, plan, case.live)
    if unsent(plan):  # remembered by now, so it is no step any more
        plan = make_plan(desired, case.live, case.policy, _past(case, memory))
    closed = tuple(p for p, _ in gates.not_open(watched_pools(desired, case.live, memory.touched)))

    looked = Assessment(
        case.name, Standing.IN_FLIGHT, "", memory, desired, plan=plan, gates=gates, closed=closed
    )
    if memory.out and memory.failure is None:
        undone = _undone_by_hand(plan, memory)
        reason = _passed_reason(memory, closed, gates, undone)
        return replace(looked, standing=Standing.PASSED, reason=reason, undone=undone)
    whole = case.contents.get(desired.content, desired)
    if case.fault is not None and case.fault.content == desired.content and memory.failure is None:
        memory = failed(memory, refused_write(case, whole, case.fault))
    failure = failure_of(case, whole, gates, managed, _unwritten(memory, plan))
    if failure is not None and (memory.failure is None or memory.repairing):
        memory = failed(memory, _of_the_way_back(memory, failure))
    looked = replace(looked, memory=memory, next=_following(case, looked, managed))
    looked = replace(looked, window=window_for(case, desired.content, plan, looked.next))
    if memory.failure is None or memory.repairing:
        return replace(looked, reason=_on_the_way(looked, gates))
    return _failed(case, looked, gates, failure)


def _past(case: Case, memory: ClusterMemory) -> Circumstances:
    past = circumstances(case, memory)
    return blind_to_modules(past) if memory.rolled_back else past


def _of_the_way_back(memory: ClusterMemory, failure: Failure) -> Failure:
    """A failure as it is told: that of a rollback is one."""
    if memory.rollback is None or not memory.rolled_back:
        return failure
    back = named_content(memory.rollback.to, memory.rollback.to_commit)
    return replace(failure, reason=f"the rollback to {back} has failed: {failure.reason}")


def _following(case: Case, looked: Assessment, managed: tuple[str, ...]) -> Next:
    """What comes next, be it that nothing does."""
    plan, gates = looked.plan, looked.gates
    assert plan is not None
    assert gates is not None
    position = Position(looked.desired, case.live, plan, gates, managed, _repair_exempt(case, gates, plan))
    following = _held(plan, marked_pools(case.live)) or next_step(position)
    if isinstance(following, Finished) and (undone := _undone_by_hand(plan, looked.memory)):
        return Await(f"every gate is open, but not with what was written: {undone}", REFUSED)
    return following


def _on_the_way(looked: Assessment, gates: GateBook) -> str:
    match looked.next:
        case Await(reason=reason):
            return _with_hands(reason, gates, looked.memory)
        case Act(step=step) if looked.window is not None:
            return f"{looked.window.reason}; next: {title_of(step.id)}"
        case Act(step=step):
            return f"next: {title_of(step.id)}"
        case Finished(reason=reason):
            return reason
        case None:
            return ""


def _failed(case: Case, looked: Assessment, gates: GateBook, failure: Failure | None) -> Assessment:
    """Where a failure is held: it is over if nothing fails any more; else only a step that is begun is ended. One that the
    server refuses to let us end stays as it is, its pools paused, until newer content or a human: trying again cannot help.
    """
    memory, held = looked.memory, looked.memory.failure
    assert held is not None
    if failure is None and held.cause is not FailureCause.REFUSED and _opened_after_all(case, gates):
        return replace(looked, memory=replace(memory, failure=None), reason="opened after all")
    stuck = held.cause is FailureCause.REFUSED
    ending = looked.next if looked.mid_step and not stuck else None
    never_published = any(f"module:{m}" in held.subjects for m in gates.unpublished)
    standing = Standing.FAILED if memory.begun or never_published else Standing.BLOCKED
    return replace(looked, standing=standing, reason=held.reason, next=ending, window=None)


def _opened_after_all(case: Case, gates: GateBook) -> bool:
    """Whether nothing fails any more; that a pool is paused, or its clocks are stopped, is no better state of it."""
    still = any(isinstance(r, Unsettled) and r.paused in STANDING_STILL for r in gates.readings.values())
    return case.counting is Counting.RUNNING and not still and not any_failed(gates)


def _held(plan: ClusterPlan, paused: Iterable[str]) -> Await | None:
    """In mid-rollout a refusal, or a fact that is missing, holds everything, an open bracket included: what is left of
    the step could not be told apart from nothing left.
    """
    if plan.refusals:
        reasons = [r.reason for r in plan.refusals]
        reasons += [f"pool {p} stays paused by us meanwhile" for p in paused]
        return Await(f"refused: {'; '.join(reasons)}", REFUSED)
    if plan.not_read:
        return Await("not read: " + "; ".join(n.reason for n in plan.not_read), "not-read")
    return None


def _undone_by_hand(plan: ClusterPlan, memory: ClusterMemory) -> str:
    """Somebody has changed or deleted what this content wrote: healthy or not, the cluster says nothing about the content,
    and no other cluster may get it on the strength of that. Empty where nobody has.
    """
    changed = [d for d in plan.drifts if ObjectName(d.key.kind, d.key.name) in memory.changed]
    return "; ".join(
        f"{d.key.kind.value} {d.key.name}: {d.reason}; put the live values into Git, or if Git's side wins: "
        f"gitops-mc accept {drift_id(d.key)} --cluster {d.key.cluster}"
        for d in changed
        if d.gone or any(matters(f.path) for f in d.fields)
    )


def matters(path: str) -> bool:
    """Whether a field is a part of the content: not our mark, nor `paused`, which holds the gate closed by itself, nor the
    order of entries that another owner has moved. Labels are: they say which pools a config goes to.
    """
    if path.startswith(_LABEL):
        return path != f"{_LABEL}{FLEET_LABEL}"
    return path.startswith("spec.") and path != "spec.paused" and not path.endswith(ORDER)


def _passed_reason(memory: ClusterMemory, closed: tuple[str, ...], gates: GateBook, undone: str) -> str:
    told = [f"passed at {memory.passed_at.isoformat(timespec='seconds')}" if memory.passed_at else "passed"]
    told += [f"not as it passed any more: {undone}"] if undone else []
    told += ["now not settled: " + "; ".join(gates.pools[p].reason for p in closed)] if closed else []
    return "; ".join(told)


def _with_hands(reason: str, gates: GateBook, memory: ClusterMemory) -> str:
    if not memory.repairing and not memory.overtaken:
        return reason
    troubles = [t for r in gates.readings.values() if isinstance(r, Unsettled) for t in r.needs_hands]
    if not troubles:
        return reason
    hands = "; ".join(f"{t} ({', '.join(t.commands)})" for t in troubles)
    nodes = ", ".join(f"node {t.node}" for t in troubles)
    return f"repair written, {nodes} needs hands: {hands}; {reason}"


REPAIRING = (StepKind.MODULE, StepKind.POLICY, StepKind.POOLS)
"""Steps that can mend a pool; what is taken away in the end comes after all have settled."""


def _unwritten(memory: ClusterMemory, plan: ClusterPlan) -> frozenset[str]:
    """Pools that a repair has still to be written to."""
    steps = [step for step in plan.steps if step.kind in REPAIRING]
    return frozenset(pool for step in steps for pool in step.pools if memory.mends(pool))


def _repair_exempt(case: Case, gates: GateBook, plan: ClusterPlan) -> frozenset[str]:
    """While a repair is written, step by step: a pool that what failed before keeps unsettled does not stop it, until the
    repair has been written to that pool; from then on it has to settle like any other before the next step.
    """
    outstanding = _unwritten(case.memory, plan)
    return frozenset(p for p, r in gates.readings.items() if p in outstanding and repairable(r, case.memory))
