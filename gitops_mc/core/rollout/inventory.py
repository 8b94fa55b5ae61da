"""What we wrote for a cluster, learnt from the cluster itself: an answer that a crash swallowed is not lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gitops_mc.core.diff import Adopt, Written
from gitops_mc.core.diff.digests import applied_digest, leaf_digests
from gitops_mc.core.gates import live_modules
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import DesiredCluster, Kind, Manifest, ResourceKey, Unknown, name_of, uid_of
from gitops_mc.core.plan import ClusterPlan
from gitops_mc.core.rollout.memory import ClusterMemory, InventoryEntry


def with_inventory(
    memory: ClusterMemory, desired: DesiredCluster, plan: ClusterPlan, live: LiveCluster
) -> ClusterMemory:
    """The inventory as the live state shows it: what stands there as Git says with our mark is ours.

    So an answer that a crash swallowed is learnt from the cluster. What is gone there and from Git is forgotten.
    A ModuleInfo carries no mark of ours (the platform makes it anew, without it): once its values are as in Git,
    remembering it is all there is to do.
    """
    entries = {(e.kind, e.name): e for e in memory.inventory}
    for key in (*plan.unchanged, *unsent(plan)):
        manifest = desired.get(key)
        found = None if manifest is None else _written(manifest, live)
        if found is not None:
            entries[key.kind, key.name] = InventoryEntry(key.kind, key.name, found)
    wanted = {(m.key.kind, m.key.name) for m in desired.manifests}
    present = _present(live)
    kept = [
        e
        for k, e in sorted(entries.items())
        if k in wanted or e.kind not in present or e.written.name in present[e.kind]
    ]
    inventory = tuple(kept)
    return memory if inventory == memory.inventory else replace(memory, inventory=inventory)


def unsent(plan: ClusterPlan) -> tuple[ResourceKey, ...]:
    """Objects that the plan takes over without sending anything."""
    return tuple(w.key for w in plan.writes if isinstance(w, Adopt) and not w.sent)


def _written(manifest: Manifest, live: LiveCluster) -> Written | None:
    key = manifest.key
    digest = applied_digest(key.kind, key.name, manifest.body)
    if key.kind is Kind.MODULE_INFO:
        found = live_modules(live, key.name)
        if len(found) != 1:
            return None
        return Written(digest, uid_of(found[0]), name_of(found[0]), leaf_digests(key.kind, manifest.body))
    fact = {
        Kind.MACHINE_CONFIG: live.configs,
        Kind.MACHINE_CONFIG_POOL: live.pools,
        Kind.MACHINE_CONFIGURATION: live.policies,
    }[key.kind]
    body = None if isinstance(fact, Unknown) else fact.value.get(key.name)
    return None if body is None else Written(digest, uid_of(body), key.name)


def _present(live: LiveCluster) -> Mapping[Kind, frozenset[str]]:
    """Names of the live objects by kind; a kind that was not read is left out: not knowing is no absence."""
    facts = {
        Kind.MACHINE_CONFIG: live.configs,
        Kind.MACHINE_CONFIG_POOL: live.pools,
        Kind.MACHINE_CONFIGURATION: live.policies,
        Kind.MODULE_INFO: live.modules,
    }
    return {kind: frozenset(fact.value) for kind, fact in facts.items() if not isinstance(fact, Unknown)}
