"""What a plan does to each node of each pool, and how long that takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from gitops_mc.core.diff import Change, Delete
from gitops_mc.core.disruption import (
    Policy,
    disruption_of,
    estimate,
    policy_of,
)
from gitops_mc.core.gates.nodes import CURRENT_CONFIG
from gitops_mc.core.ignition import Effective, MergeOrder, effective_of, entries_changed, with_operator_files
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import POLICY_NAME, JsonObject, Kind, Unknown, annotations_of
from gitops_mc.core.plan.steps import NodeImpact, PoolImpact
from gitops_mc.core.plan.world import World
from gitops_mc.core.pools import machine_count, max_unavailable


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a plan plays: the world before and after it, and the rules by which nodes are disturbed."""

    before: World
    after: World
    live: LiveCluster
    order: MergeOrder
    policy: Policy
    per_node: timedelta
    operator_files: tuple[str, ...] = ()
    """What the operator adds to every rendered config; it stays."""


def impacts(pools: Sequence[str], scene: Scene) -> tuple[PoolImpact, ...]:
    """The impact on each of `pools` that will exist, those with nothing to do left out.

    A node is compared from the rendered config it stands at; where that was not read, from the merge of the live
    configs of its pool.
    """
    found = (_pool_impact(pool, scene) for pool in pools if pool in scene.after.pools)
    return tuple(impact for impact in found if impact.changes or impact.nodes)


def _pool_impact(pool: str, scene: Scene) -> PoolImpact:
    now, then = scene.before.effective(pool, scene.order), scene.after.effective(pool, scene.order)
    nodes = tuple(_node_impacts(pool, now, then, scene))
    count = sum(n.count for n in nodes)
    at_once = max_unavailable(scene.after.pools[pool], count)
    return PoolImpact(
        pool=pool,
        changes=entries_changed(now, then),
        nodes=nodes,
        max_unavailable=at_once,
        estimate=max(
            (estimate(count, at_once, scene.per_node, n.disruption) for n in nodes), default=timedelta(0)
        ),
    )


def _node_impacts(pool: str, now: Effective, then: Effective, scene: Scene) -> Iterator[NodeImpact]:
    live = scene.live
    if isinstance(live.nodes, Unknown):
        counted = machine_count(scene.after.pools[pool])
        disruption = disruption_of(now, then, scene.policy)
        if disruption.causes and counted:
            yield NodeImpact((), counted, disruption)
        return
    rendered: Mapping[str, JsonObject] = {} if isinstance(live.rendered, Unknown) else live.rendered.value
    by_config: dict[str, list[str]] = {}
    for name, node in sorted(live.nodes.value.items()):
        if scene.after.pools_of(node) == (pool,):
            by_config.setdefault(annotations_of(node).get(CURRENT_CONFIG, ""), []).append(name)
    for config, names in sorted(by_config.items()):
        start = effective_of(rendered[config]) if config in rendered else now
        disruption = disruption_of(
            start, with_operator_files(then, start, scene.operator_files), scene.policy
        )
        if disruption.causes:
            yield NodeImpact(tuple(names), len(names), disruption)


def policy_after(live: LiveCluster, changes: Sequence[Change]) -> Policy:
    """The node-disruption policy that holds once the plan's policy step is done."""
    found = {} if isinstance(live.policies, Unknown) else live.policies.value
    desired = next(
        (c.body for c in changes if c.key.kind is Kind.MACHINE_CONFIGURATION and not isinstance(c, Delete)),
        None,
    )
    return policy_of(found.get(POLICY_NAME), desired)
