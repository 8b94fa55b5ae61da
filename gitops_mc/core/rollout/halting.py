"""Failures counted over the fleet: before the first write, in a soak, and what they halt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from gitops_mc.core.model import Failed, count
from gitops_mc.core.rollout.case import Assessment
from gitops_mc.core.rollout.failures import without_secrets
from gitops_mc.core.rollout.inputs import Fleet, Pass
from gitops_mc.core.rollout.memory import Failure, FailureCause, FleetMemory, Halt
from gitops_mc.core.rollout.moves import AWAY, Standing, WaveState, WaveView
from gitops_mc.core.rollout.repairs import pool_subject
from gitops_mc.core.rollout.waves import Budget


def early_failures(
    memory: FleetMemory, found: Mapping[str, Assessment], fleet: Fleet
) -> tuple[FleetMemory, dict[str, Assessment]]:
    """Clusters that fail before anything is written: a version that is never published."""
    result = dict(found)
    for name, a in found.items():
        if a.admission is None or a.admission.failure is None or a.in_rollout:
            continue
        failed = replace(
            a.memory,
            started=a.admission.failure.content,
            started_commit=fleet.commit,
            failure=a.admission.failure,
        )
        memory = memory.with_cluster(name, failed)
        result[name] = replace(a, memory=failed, standing=Standing.FAILED)
    return memory, result


def soak_failures(
    on: Pass, memory: FleetMemory, found: Mapping[str, Assessment], views: Sequence[WaveView]
) -> tuple[FleetMemory, dict[str, Assessment]]:
    """A cluster that passed, and whose pools fail while its wave soaks, has failed with what it passed."""
    result = dict(found)
    for name in (n for v in views if v.state is WaveState.SOAKING for n in v.members):
        a = found[name]
        if a.standing is not Standing.PASSED or a.gates is None or name in on.observed.busy:
            continue
        failed = {p: v for p, v in a.gates.not_open(a.closed) if isinstance(v, Failed)}
        if not failed:
            continue
        live = on.observed.live[name]
        told = "failed while its wave soaked: " + "; ".join(v.reason for v in failed.values())
        failure = Failure(
            content=a.desired.content,
            cause=FailureCause.CONFIG,
            reason=without_secrets(on.fleet.policy, live, a.desired, told),
            at=on.now,
            subjects={f"pool:{p}": pool_subject(a.desired, live, p) for p in failed},
        )
        after = replace(a.memory, failure=failure, begun=True)
        memory = memory.with_cluster(name, after)
        result[name] = replace(a, memory=after, standing=Standing.FAILED, reason=failure.reason)
    return memory, result


def budget_of(fleet: Fleet, found: Mapping[str, Assessment], memory: FleetMemory) -> Budget:
    total = len(found)
    rollout = fleet.policy.rollout
    failed = [n for n, a in found.items() if a.memory.failure is not None and a.memory.begun]
    failed += [n for n, a in found.items() if a.standing is Standing.FAILED and n not in failed]
    waiting_halt = memory.halt.clusters if memory.halt is not None else ()
    return Budget(
        failures_allowed=rollout.max_failures.of(total),
        failed=len({*failed, *waiting_halt}),
        unreachable_allowed=rollout.max_unreachable.of(total),
        unreachable=sum(1 for n, a in found.items() if a.standing in AWAY and n not in failed),
    )


def with_halt(
    memory: FleetMemory, found: Mapping[str, Assessment], budget: Budget, now: datetime
) -> FleetMemory:
    failed = tuple(
        n for n, a in found.items() if a.memory.failure is not None and a.standing is not Standing.SKIPPED
    )
    if memory.halt is not None:
        clusters = tuple(sorted({*memory.halt.clusters, *failed}))
        return replace(memory, halt=replace(memory.halt, clusters=clusters))
    if not budget.too_many_failures or not failed:
        return memory
    reasons = "; ".join(f"{n}: {f.reason}" for n in failed if (f := found[n].memory.failure) is not None)
    told = f"{count(budget.failed, 'cluster')} failed, {budget.failures_allowed} tolerated: {reasons}"
    return replace(memory, halt=Halt(told, now, failed))
