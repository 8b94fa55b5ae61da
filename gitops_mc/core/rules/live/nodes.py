"""Rules about the nodes that a cluster has, seen with the pools as they will be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitops_mc.core.gates import pools_of_node
from gitops_mc.core.live import Objects
from gitops_mc.core.model import JsonObject, Kind, Manifest
from gitops_mc.core.policy import PoolClass
from gitops_mc.core.pools import pool_class
from gitops_mc.core.remembered import Remembered
from gitops_mc.core.rules.live.facts import known, planned_pools
from gitops_mc.core.rules.pools import readable
from gitops_mc.core.rules.row import Hit, LiveFact, LiveFacts
from gitops_mc.core.rules.shapes import at, labels, mapping

_TOLD = 3


def _memberships(facts: LiveFacts) -> Mapping[str, tuple[str, ...]]:
    """Every node with the pools that it will be in."""
    nodes, live = known(facts, LiveFact.NODES), known(facts, LiveFact.POOLS)
    desired = (manifest.body for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG_POOL))
    return _MEMBERSHIPS.get((nodes, live, *desired), (), lambda: _members(nodes, planned_pools(facts)))


_MEMBERSHIPS: Remembered[Mapping[str, tuple[str, ...]]] = Remembered(1024)


def _members(nodes: Objects, planned: Mapping[str, JsonObject]) -> Mapping[str, tuple[str, ...]]:
    pools = {
        name: {"spec": {"nodeSelector": readable(mapping(at(pool, "spec", "nodeSelector")))}}
        for name, pool in planned.items()
    }
    return {
        name: pools_of_node({"metadata": {"labels": labels(node)}}, pools) for name, node in nodes.items()
    }


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return ", ".join(sorted(names)[:_TOLD]) + more


def _of_pools(facts: LiveFacts) -> Manifest | None:
    """A manifest to say it at: the first pool's, else the first config's. None: Git has neither, and nothing to lose."""
    found = (*facts.cluster.of_kind(Kind.MACHINE_CONFIG_POOL), *facts.cluster.of_kind(Kind.MACHINE_CONFIG))
    return next(iter(found), None)


def in_some_pool(facts: LiveFacts) -> Iterator[Hit]:
    homeless = [node for node, pools in _memberships(facts).items() if not pools]
    manifest = _of_pools(facts)
    if homeless and manifest is not None:
        yield Hit(
            manifest,
            (),
            f"in no pool of cluster {facts.cluster.name}, so nothing reaches them: {_some(homeless)}",
            "label workers: kubectl label node NAME node-role.kubernetes.io/worker=",
        )


def in_one_custom_pool(facts: LiveFacts) -> Iterator[Hit]:
    contested: dict[tuple[str, ...], list[str]] = {}
    for node, pools in _memberships(facts).items():
        if len(pools) > 1:
            contested.setdefault(pools, []).append(node)
    for pools, nodes in sorted(contested.items()):
        mine = [m for m in facts.cluster.of_kind(Kind.MACHINE_CONFIG_POOL) if m.key.name in pools]
        manifest = mine[0] if mine else _of_pools(facts)
        if manifest is not None:
            yield Hit(
                manifest,
                ("spec", "nodeSelector") if mine else (),
                f"in pools {' and '.join(pools)} at once, so the operator skips them: {_some(nodes)}",
                "take a label from the nodes, or narrow a nodeSelector: a node is in one custom pool at most",
            )


def selects_a_node(facts: LiveFacts) -> Iterator[Hit]:
    used = {pool for pools in _memberships(facts).values() for pool in pools}
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG_POOL):
        name = manifest.key.name
        if name not in used and pool_class(name) is PoolClass.CUSTOM:
            yield Hit(
                manifest,
                ("spec", "nodeSelector"),
                f"pool {name} selects no node of cluster {facts.cluster.name}, so its configs reach nobody",
                "label the nodes that it is for, or correct the selector",
            )
