"""In which order a cluster's changes are made: modules, the widening of the policy, groups of pools, and what goes last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitops_mc.core.diff import ABSENT, Change, Delete, Update
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import MACHINE_CONFIG_MODULE, DesiredCluster, Kind
from gitops_mc.core.plan.groups import Group
from gitops_mc.core.plan.modules import module_order
from gitops_mc.core.plan.steps import Step, StepKind


def in_order(
    changes: Sequence[Change],
    grouped: Sequence[Group],
    everything: tuple[str, ...],
    desired: DesiredCluster,
    live: LiveCluster,
) -> Iterator[Step]:
    """The steps; `everything`: the pools there are, all of which a policy and the module machine-config touch."""
    modules = {c.key.name: c for c in changes if c.key.kind is Kind.MODULE_INFO and not isinstance(c, Delete)}
    for name in module_order(desired, live):
        if name in modules:
            pools = everything if name == MACHINE_CONFIG_MODULE else ()
            yield Step(StepKind.MODULE, name, (modules[name],), pools)
    policy = next((c for c in changes if c.key.kind is Kind.MACHINE_CONFIGURATION), None)
    if policy is not None and (widening := _widening(policy)) is not None:
        yield Step(StepKind.POLICY, "", (widening,), everything)
    for group in grouped:
        yield Step(StepKind.POOLS, ",".join(group.pools), group.changes, group.pools)
    if isinstance(policy, Update) and policy.union_body is not None:
        yield Step(StepKind.POLICY_FINAL, "", (policy,), everything)
    for change in changes:
        if removes_pool(change):
            yield Step(StepKind.POOL_REMOVAL, change.key.name, (change,), (change.key.name,))
    for change in changes:
        if change.key.kind is Kind.MODULE_INFO and isinstance(change, Delete):
            pools = everything if change.key.name == MACHINE_CONFIG_MODULE else ()
            yield Step(StepKind.MODULE_REMOVAL, change.key.name, (change,), pools)


def _widening(change: Change) -> Change | None:
    """The policy write that comes before the configs: what is new and what changes; None if entries only go."""
    if not isinstance(change, Update) or change.union_body is None:
        return change
    if all(f.after is ABSENT for f in change.fields):
        return None
    return replace(change, body=change.union_body)


def removes_pool(change: Change) -> bool:
    """Whether it deletes a pool, which is a step of its own, after all that write configs."""
    return change.key.kind is Kind.MACHINE_CONFIG_POOL and isinstance(change, Delete)
