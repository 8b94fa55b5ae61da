"""Changes x policy -> the plan of one cluster. Pure, and made again on every pass: a plan is never stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gitops_mc.core.diff import (
    Adopt,
    Change,
    ClusterDiff,
    Create,
    Delete,
    RefusalCause,
    Refused,
    Update,
    Written,
    diff_cluster,
)
from gitops_mc.core.ignition import Effective, MergeOrder
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import (
    MACHINE_CONFIG_MODULE,
    DesiredCluster,
    Kind,
    Known,
    Problem,
    ResourceKey,
    Severity,
    Unknown,
    name_of,
    named,
)
from gitops_mc.core.plan.deletions import Sorted, orders_disagree, shrinking, sort_deletions
from gitops_mc.core.plan.groups import Group, groups
from gitops_mc.core.plan.impact import Scene, impacts, policy_after
from gitops_mc.core.plan.ordering import in_order, removes_pool
from gitops_mc.core.plan.steps import ClusterPlan, PlanRule, PoolImpact, Refusal, drift_id
from gitops_mc.core.plan.world import World, live_world, planned_world
from gitops_mc.core.policy import FleetPolicy, Prune
from gitops_mc.core.pools import machine_count, node_selector
from gitops_mc.core.remembered import Remembered
from gitops_mc.core.rules.live import check_with_facts

_POOLED = (Kind.MACHINE_CONFIG, Kind.MACHINE_CONFIG_POOL)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is remembered of the cluster and decides the plan beside Git and the live state."""

    inventory: Mapping[ResourceKey, Written] = field(default_factory=dict)
    created: frozenset[ResourceKey] = frozenset()
    """Objects made by content that has never passed."""
    order: MergeOrder | None = None
    """The merge order learnt on this cluster."""
    prune: Prune = field(default_factory=Prune)
    """The limits in force, not necessarily those of the newest commit."""
    passed: DesiredCluster | None = None
    """What the cluster passed last, where that content can still be had."""
    git_wins: frozenset[ResourceKey] = frozenset()
    """Drifted objects of which a human has said that Git's side wins."""
    proven: frozenset[ResourceKey] = frozenset()
    """Objects that passed as the inventory has them, and that we have not touched since."""


NO_CIRCUMSTANCES = Circumstances()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A plan in the making: what was asked for, what differs, and the world before and after."""

    desired: DesiredCluster
    live: LiveCluster
    policy: FleetPolicy
    circumstances: Circumstances
    found: ClusterDiff
    sorted_out: Sorted
    before: World
    after: World
    grouped: tuple[Group, ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.sorted_out.changes

    @property
    def touched(self) -> tuple[str, ...]:
        """Pools that a group of writes touches."""
        return tuple(dict.fromkeys(pool for group in self.grouped for pool in group.pools))

    @property
    def order(self) -> MergeOrder:
        """The learnt order; while it is not known, results that depend on it are refused."""
        return self.circumstances.order or MergeOrder.ALPHABETICAL


def make_plan(
    desired: DesiredCluster,
    live: LiveCluster,
    policy: FleetPolicy,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
) -> ClusterPlan:
    """Everything that would be done to bring the cluster to `desired`, in order, or why it is not done."""
    known, unknown = live.read()
    past = circumstances
    return _PLANS.get(
        (desired, policy, past.inventory, past.passed, *known),
        (past.created, past.order, past.prune, past.git_wins, past.proven, *unknown),
        lambda: _make_plan(desired, live, policy, circumstances),
    )


_PLANS: Remembered[ClusterPlan] = Remembered(1024)


def _make_plan(
    desired: DesiredCluster, live: LiveCluster, policy: FleetPolicy, circumstances: Circumstances
) -> ClusterPlan:
    draft = _draft(desired, live, policy, circumstances)
    broken = [p for p in check_with_facts(desired, policy, live) if isinstance(p, Problem)]
    affected = _affected(draft.touched, draft.changes, draft.before)
    return ClusterPlan(
        cluster=desired.name,
        content=desired.content,
        steps=tuple(in_order(draft.changes, draft.grouped, tuple(sorted(draft.before.pools)), desired, live)),
        impacts=_impacts(draft, affected),
        refusals=tuple(_refusals(draft, broken)),
        kept=(*draft.sorted_out.kept, *(o for o in draft.found.orphans if o.reason)),
        drifts=draft.found.drifts,
        newer=draft.found.newer,
        not_read=draft.found.not_read,
        unchanged=draft.found.unchanged,
        notes=tuple(_notes(draft.changes, broken)),
        unforeseen=_unforeseen(draft.changes, live, affected, draft.after),
    )


def _draft(
    desired: DesiredCluster, live: LiveCluster, policy: FleetPolicy, circumstances: Circumstances
) -> _Draft:
    found = diff_of(desired, live, policy, circumstances)
    sorted_out = sort_deletions(
        found.changes,
        created=circumstances.created,
        prune=circumstances.prune,
        owned=len(circumstances.inventory),
        live=live,
    )
    before = live_world(live)
    after = planned_world(before, sorted_out.changes)
    pooled = [c for c in sorted_out.changes if c.key.kind in _POOLED and not removes_pool(c)]
    grouped = groups(pooled, before, after, live, policy.rollout.pool_order)
    return _Draft(desired, live, policy, circumstances, found, sorted_out, before, after, grouped)


def _impacts(draft: _Draft, affected: Sequence[str]) -> tuple[PoolImpact, ...]:
    gate = draft.policy.gates.pool
    scene = Scene(
        draft.before,
        draft.after,
        draft.live,
        order=draft.order,
        policy=policy_after(draft.live, draft.changes),
        per_node=gate.per_node,
        operator_files=gate.operator_files,
    )
    return impacts(affected, scene)


def _refusals(draft: _Draft, broken: Sequence[Problem]) -> Iterator[Refusal]:
    """All reasons at once: objects, limits, merge order, prerequisites, and rules that only the live cluster decides."""
    yield from (Refusal(r.cause.value.replace(" ", "-"), _refused(r), r.key) for r in draft.found.refusals)
    yield from draft.sorted_out.refusals
    yield from _shrinking(draft)
    yield from _undecided_order(draft)
    yield from _no_machine_apis(draft.desired, draft.live)
    yield from (Refusal(p.rule, _told(p)) for p in broken if p.severity is Severity.ERROR)


def _told(problem: Problem) -> str:
    return f"{problem.place}: {problem.message}; {problem.hint}"


def _refused(refused: Refused) -> str:
    told = f"{refused.key.kind.value} {refused.key.name}: {refused.reason}"
    if refused.cause is not RefusalCause.DRIFTED:
        return told
    return f"{told}; if Git's side wins: gitops-mc accept {drift_id(refused.key)} --cluster {refused.key.cluster}"


def _affected(touched: Sequence[str], changes: Sequence[Change], before: World) -> tuple[str, ...]:
    """Pools whose nodes may be disturbed. A policy is read when a node is updated, so by itself it disturbs none."""
    upgrade = any(c.key.kind is Kind.MODULE_INFO and c.key.name == MACHINE_CONFIG_MODULE for c in changes)
    return tuple(dict.fromkeys([*touched, *(sorted(before.pools) if upgrade else ())]))


def _shrinking(draft: _Draft) -> tuple[Refusal, ...]:
    """Refusals for what leaves the pools' effective configs."""
    circumstances, before, after = draft.circumstances, draft.before, draft.after
    settled = circumstances.passed
    pruned = any(isinstance(c, Delete) and c.key not in circumstances.created for c in draft.changes)
    if settled is not None and settled.content == draft.desired.content and not pruned:
        return ()  # a pure revert takes away only what never passed
    return shrinking(
        {p: before.effective(p, draft.order) for p in draft.touched if p in before.pools},
        {p: after.effective(p, draft.order) for p in draft.touched if p in after.pools},
        None if settled is None else _passed_configs(draft, settled),
        circumstances.prune.max_deletes,
    )


def _passed_configs(draft: _Draft, settled: DesiredCluster) -> dict[str, Effective]:
    created = draft.circumstances.created
    bodies = {m.key.name: m.body for m in settled.of_kind(Kind.MACHINE_CONFIG)}
    fresh = {k.name for k in created if k.kind is Kind.MACHINE_CONFIG} - bodies.keys()
    configs = {name: c for name, c in {**draft.before.configs, **bodies}.items() if name not in fresh}
    world = World(configs, draft.before.pools)
    return {p: world.effective(p, draft.order) for p in draft.touched}


def _undecided_order(draft: _Draft) -> Iterator[Refusal]:
    """While nobody knows in which order this operator merges, a change whose result depends on it is not made."""
    if draft.circumstances.order is not None:
        return
    before, after = draft.before, draft.after
    for pool in draft.touched:
        if before.selected(pool) != after.selected(pool) and orders_disagree(after, pool):
            names = ", ".join(name_of(c) for c in after.selected(pool))
            yield Refusal(
                PlanRule.MERGE_ORDER_UNKNOWN.value,
                f"pool {pool}: what its configs come to depends on the order in which the operator merges them, and that is "
                f"not known on this cluster yet ({names}). Rename them so that both orders agree: configs of role worker "
                "sort before those of the custom role",
            )


def _no_machine_apis(desired: DesiredCluster, live: LiveCluster) -> Iterator[Refusal]:
    if not isinstance(live.machine_apis, Known) or live.machine_apis.value.served:
        return
    wanted = [m for m in desired.manifests if m.key.kind is not Kind.MODULE_INFO]
    comes = any(
        m.key.kind is Kind.MODULE_INFO and m.key.name == MACHINE_CONFIG_MODULE for m in desired.manifests
    )
    if wanted and not comes:
        yield Refusal(
            PlanRule.MACHINE_CONFIG_MISSING.value,
            f"the machine configuration APIs are not served on {desired.name}, and Git has no ModuleInfo machine-config for "
            f"it: add one under clusters/{desired.name}, or install the plugin by hand",
        )


def _unforeseen(changes: Sequence[Change], live: LiveCluster, affected: Sequence[str], after: World) -> str:
    served = isinstance(live.machine_apis, Unknown) or live.machine_apis.value.served
    if not served and any(c.key.kind in _POOLED for c in changes):
        return "which nodes are touched is not known before machine-config is installed"
    pools = [p for p in affected if p in after.pools and machine_count(after.pools[p]) is None]
    if served and pools and isinstance(live.nodes, Unknown):
        return f"how many nodes are in {', '.join(pools)} is not known: {live.nodes.reason}"
    gaining = _other_nodes(changes, live) if isinstance(live.nodes, Unknown) else ()
    if served and gaining and isinstance(live.nodes, Unknown):
        return f"which nodes {named('pool', gaining)} will have is not known: {live.nodes.reason}"
    return ""


def _other_nodes(changes: Sequence[Change], live: LiveCluster) -> tuple[str, ...]:
    """Pools that come, go, or select other nodes than before: whoever has not seen the nodes cannot say which of them move."""
    known = {} if isinstance(live.pools, Unknown) else live.pools.value
    pools = (c for c in changes if c.key.kind is Kind.MACHINE_CONFIG_POOL and not isinstance(c, Adopt))
    return tuple(
        c.key.name
        for c in pools
        if isinstance(c, Delete) or node_selector(c.body) != node_selector(known.get(c.key.name, {}))
    )


def _notes(changes: Sequence[Change], broken: Sequence[Problem]) -> Iterator[str]:
    for change in changes:
        match change:
            case Adopt() | Update():
                yield from (f"{change.key.kind.value} {change.key.name}: {note}" for note in change.notes)
            case Create() | Delete():
                pass
    yield from (f"{_told(p)} [{p.rule}]" for p in broken if p.severity is Severity.WARNING)


def diff_of(
    desired: DesiredCluster,
    live: LiveCluster,
    policy: FleetPolicy,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
) -> ClusterDiff:
    """The bare differences, for showing; deletions are candidates here."""
    return diff_cluster(
        desired,
        live,
        circumstances.inventory,
        fleet=policy.name,
        git_wins=circumstances.git_wins,
        proven=circumstances.proven,
    )
