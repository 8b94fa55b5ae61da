"""Rules about the pools that a cluster has: their selectors, and how many of their nodes go at once."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.model import (
    JsonObject,
    Kind,
    matches_selector,
)
from gitops_mc.core.pools import BUILT_IN_POOLS, machine_count, max_unavailable
from gitops_mc.core.rules.live.facts import known, planned_pools
from gitops_mc.core.rules.pools import config_selector, known_pools, readable
from gitops_mc.core.rules.row import Hit, LiveFact, LiveFacts
from gitops_mc.core.rules.shapes import at, labels, mapping


def same_default_selectors(facts: LiveFacts) -> Iterator[Hit]:
    live = known(facts, LiveFact.POOLS)
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG_POOL):
        name = manifest.key.name
        if name not in BUILT_IN_POOLS or name not in live:
            continue
        for selector in ("machineConfigSelector", "nodeSelector"):
            wanted = at(manifest.body, "spec", selector)
            if wanted is not None and wanted != at(live[name], "spec", selector):
                yield Hit(
                    manifest,
                    ("spec", selector),
                    f"{selector} of pool {name} differs from the one the operator made: its nodes would change hands",
                    "leave it out, or copy it from the live pool",
                )


def selected_by_some_pool(facts: LiveFacts) -> Iterator[Hit]:
    live = known(facts, LiveFact.POOLS)
    desired = known_pools(facts.cluster)
    selectors: list[JsonObject | None] = [config_selector(facts.cluster, pool) for pool in desired]
    selectors += [readable(mapping(at(pool, "spec", "machineConfigSelector"))) for pool in live.values()]
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG):
        if not any(matches_selector(selector, labels(manifest.body)) for selector in selectors):
            yield Hit(
                manifest,
                ("metadata", "labels"),
                f"no pool selects {manifest.key.name}, neither here nor on cluster {facts.cluster.name}: it is ignored",
                "correct the role label, or add the pool",
            )


def takes_all_nodes(facts: LiveFacts) -> Iterator[Hit]:
    """A number of nodes at once that is no limit for the pool as it stands. A pool of one node has no choice."""
    pools = planned_pools(facts)
    for manifest in facts.cluster.of_kind(Kind.MACHINE_CONFIG_POOL):
        wanted = at(manifest.body, "spec", "maxUnavailable")
        nodes = machine_count(pools[manifest.key.name]) or 0
        if wanted in (None, "100%") or nodes <= 1:
            continue  # rule `pool-max-unavailable-all` speaks of 100%
        at_once = max_unavailable(manifest.body, nodes)
        if at_once >= nodes:
            yield Hit(
                manifest,
                ("spec", "maxUnavailable"),
                f"maxUnavailable {wanted} takes all {nodes} nodes of pool {manifest.key.name} at once",
                "write less than the pool has nodes, so that its workloads have somewhere to go",
            )
