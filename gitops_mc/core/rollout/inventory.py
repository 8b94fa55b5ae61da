"""What we wrote for a cluster, learnt from the cluster itself: an answer that a crash swallowed is not lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gitops_mc.core.diff import Adopt, Written
from gitops_mc.core.diff.digests import applied_digest, leaf_digests
from gitops_mc.core.diff.owners import owners_of
from gitops_mc.core.gates import live_modules
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import (
    APPLIED_ANNOTATION,
    FLEET_LABEL,
    DesiredCluster,
    JsonObject,
    Kind,
    Manifest,
    ResourceKey,
    Unknown,
    annotations_of,
    labels_of,
    name_of,
    uid_of,
)
from gitops_mc.core.plan import ClusterPlan
from gitops_mc.core.rollout.memory import ClusterMemory, InventoryEntry


def with_inventory(
    memory: ClusterMemory, desired: DesiredCluster, plan: ClusterPlan, live: LiveCluster
) -> ClusterMemory:
    """The inventory as the live state shows it: what stands there as Git says with our mark is ours.

    So an answer that a crash swallowed is learnt from the cluster, also when Git has taken the object back before anybody saw
    it: we meant to make it, and it carries our mark. What is gone there and from Git is forgotten.
    A ModuleInfo carries no mark of ours (the platform makes it anew, without it): once its values are as in Git,
    remembering it is all there is to do.
    """
    entries = {(e.kind, e.name): e for e in memory.inventory}
    for key in (*plan.unchanged, *unsent(plan)):
        manifest = desired.get(key)
        found = None if manifest is None else _written(manifest, live)
        if found is not None:
            entries[key.kind, key.name] = InventoryEntry(key.kind, key.name, found)
    for item in memory.created:
        if (item.kind, item.name) in entries:
            continue
        found = _made(item.key(desired.name), live)
        if found is not None:
            entries[item.kind, item.name] = InventoryEntry(item.kind, item.name, found)
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
    body = _body(key, live)
    return None if body is None else Written(digest, uid_of(body), key.name)


def _made(key: ResourceKey, live: LiveCluster) -> Written | None:
    """A machine object that we meant to make, if it stands there by our hand. A ModuleInfo carries no mark to tell by."""
    body = None if key.kind is Kind.MODULE_INFO else _body(key, live)
    if body is None or owners_of(body).ours is None or FLEET_LABEL not in labels_of(body):
        return None
    digest = annotations_of(body).get(APPLIED_ANNOTATION)
    return None if digest is None else Written(digest, uid_of(body), key.name)


def _body(key: ResourceKey, live: LiveCluster) -> JsonObject | None:
    fact = {
        Kind.MACHINE_CONFIG: live.configs,
        Kind.MACHINE_CONFIG_POOL: live.pools,
        Kind.MACHINE_CONFIGURATION: live.policies,
    }[key.kind]
    return None if isinstance(fact, Unknown) else fact.value.get(key.name)


def _present(live: LiveCluster) -> Mapping[Kind, frozenset[str]]:
    """Names of the live objects by kind; a kind that was not read is left out: not knowing is no absence."""
    facts = {
        Kind.MACHINE_CONFIG: live.configs,
        Kind.MACHINE_CONFIG_POOL: live.pools,
        Kind.MACHINE_CONFIGURATION: live.policies,
        Kind.MODULE_INFO: live.modules,
    }
    return {kind: frozenset(fact.value) for kind, fact in facts.items() if not isinstance(fact, Unknown)}
