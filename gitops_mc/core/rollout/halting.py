"""Failures counted over the fleet: before the first write, in a soak, and what they halt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from gitops_mc.core.model import Failed, count
from gitops_mc.core.rollout import rollback
from gitops_mc.core.rollout.case import Assessment
from gitops_mc.core.rollout.failures import cause_of, without_secrets
from gitops_mc.core.rollout.inputs import Fleet, Pass
from gitops_mc.core.rollout.memory import ClusterMemory, Failure, FleetMemory, Halt
from gitops_mc.core.rollout.moves import AWAY, Standing, WaveState, WaveView
from gitops_mc.core.rollout.repairs import pool_subject
from gitops_mc.core.rollout.transitions import failed
from gitops_mc.core.rollout.waves import Budget

_TOLD: Final = 5
"""Of how many clusters a halt gives the reasons."""


def early_failures(
    memory: FleetMemory, found: Mapping[str, Assessment], fleet: Fleet
) -> tuple[FleetMemory, dict[str, Assessment]]:
    """Clusters that fail before anything is written: a version that is never published."""
    result = dict(found)
    for name, a in found.items():
        if a.admission is None or a.admission.failure is None or a.in_rollout:
            continue
        after = failed(
            replace(a.memory, started=a.admission.failure.content, started_commit=fleet.commit),
            a.admission.failure,
        )
        memory = memory.with_cluster(name, after)
        result[name] = replace(a, memory=after, standing=Standing.FAILED)
    return memory, result


def soak_failures(
    on: Pass, memory: FleetMemory, found: Mapping[str, Assessment], views: Sequence[WaveView]
) -> tuple[FleetMemory, dict[str, Assessment]]:
    """A cluster that passed, and whose pools fail while its wave soaks, has failed with what it passed."""
    result = dict(found)
    for name in (n for v in views if v.state is WaveState.SOAKING for n in v.members):
        a = found[name]
        if not a.has_passed or a.gates is None or name in on.observed.busy:
            continue
        shut = {p: v for p, v in a.gates.not_open(a.closed) if isinstance(v, Failed)}
        if not shut:
            continue
        live = on.observed.live[name]
        told = "failed while its wave soaked: " + "; ".join(v.reason for v in shut.values())
        failure = Failure(
            content=a.desired.content,
            cause=cause_of(a.gates, shut),
            reason=without_secrets(on.fleet.policy, live, a.desired, told),
            at=on.now,
            subjects={f"pool:{p}": pool_subject(a.desired, live, p) for p in shut},
        )
        after = replace(failed(a.memory, failure), begun=True)
        memory = memory.with_cluster(name, after)
        result[name] = replace(a, memory=after, standing=Standing.FAILED, reason=failure.reason)
    return memory, result


def budget_of(fleet: Fleet, found: Mapping[str, Assessment], memory: FleetMemory) -> Budget:
    total = len(found)
    rollout = fleet.policy.rollout
    counted = [n for n, a in found.items() if a.memory.failure is not None and a.memory.begun]
    counted += [n for n, a in found.items() if a.standing is Standing.FAILED and n not in counted]
    waiting_halt = memory.halt.clusters if memory.halt is not None else ()
    return Budget(
        failures_allowed=rollout.max_failures.of(total),
        failed=len({*counted, *waiting_halt}),
        unreachable_allowed=rollout.max_unreachable.of(total),
        unreachable=sum(1 for n, a in found.items() if a.standing in AWAY and n not in counted),
    )


def with_halt(memory: FleetMemory, found: Mapping[str, Assessment], budget: Budget, on: Pass) -> FleetMemory:
    """Halt where more clusters have failed than are tolerated, and where one has no way back that should have one."""
    held = {n: a.memory.held for n, a in found.items() if a.standing is not Standing.SKIPPED and _holds(a)}
    if memory.halt is not None:
        clusters = tuple(sorted({*memory.halt.clusters, *held}))
        return replace(memory, halt=replace(memory.halt, clusters=clusters))
    stuck = {n: told for n in held if (told := no_way_back(on, n, found[n].memory))}
    if not held or not (budget.too_many_failures or stuck):
        return memory
    told = f"{count(budget.failed, 'cluster')} failed, {budget.failures_allowed} tolerated: "
    told += _some([f"{n}: {failures[0].reason}" for n, failures in held.items()])
    if stuck:
        told += f"; {_some([f'{n}: {why}' for n, why in stuck.items()])}"
    return replace(memory, halt=Halt(told, on.now, tuple(held)))


def _some(reasons: Sequence[str]) -> str:
    """The first few of them; each cluster tells its own."""
    more = f"; and {len(reasons) - _TOLD} more" if len(reasons) > _TOLD else ""
    return f"{'; '.join(reasons[:_TOLD])}{more}"


def no_way_back(on: Pass, name: str, memory: ClusterMemory) -> str:
    """Why a cluster that is to be rolled back cannot be; empty where it can, or is not to be."""
    newest = next(c for c in on.fleet.clusters if c.name == name)
    contents = {**on.fleet.contents.get(name, {}), newest.content: newest}
    return rollback.no_way_back(memory, on.fleet.policy, contents)


def _holds(a: Assessment) -> bool:
    return a.memory.failure is not None or a.memory.rolled_back
