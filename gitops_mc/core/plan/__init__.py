"""The plan of one cluster: steps in order, their impact on nodes, refusals, and a digest of it all."""

from gitops_mc.core.plan.build import NO_CIRCUMSTANCES, Circumstances, diff_of, make_plan
from gitops_mc.core.plan.modules import machine_modules, module_order
from gitops_mc.core.plan.promise import NOTHING, Promise, beyond, promise_of
from gitops_mc.core.plan.steps import (
    DRIFT,
    ClusterPlan,
    NodeImpact,
    PlanRule,
    PoolImpact,
    Refusal,
    Step,
    StepKind,
    drift_id,
    title_of,
)
from gitops_mc.core.plan.world import World, applied, planned_world

__all__ = [
    "DRIFT",
    "NOTHING",
    "NO_CIRCUMSTANCES",
    "Circumstances",
    "ClusterPlan",
    "NodeImpact",
    "PlanRule",
    "PoolImpact",
    "Promise",
    "Refusal",
    "Step",
    "StepKind",
    "World",
    "applied",
    "beyond",
    "diff_of",
    "drift_id",
    "machine_modules",
    "make_plan",
    "module_order",
    "planned_world",
    "promise_of",
    "title_of",
]
