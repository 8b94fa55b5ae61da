"""What a pull request makes of each pool's config: entries, where they come from, and what a node goes through for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gitops_mc.core.disruption import Disruption, Policy, disruption_of, policy_of
from gitops_mc.core.ignition import (
    KERNEL_ARGUMENTS,
    ChangeKind,
    Effective,
    Entry,
    EntryChange,
    EntryKind,
    MergeOrder,
    effective_of,
    entries_changed,
    merge,
    read,
)
from gitops_mc.core.model import POLICY_NAME, DesiredCluster, JsonObject, Kind, Manifest, ResourceKey
from gitops_mc.core.plan.deletions import shrinking
from gitops_mc.core.pools import BUILT_IN_POOLS, WORKER_POOL
from gitops_mc.core.preview.changed import Origin, PoolChange, PoolEntry, WithoutEffect
from gitops_mc.core.preview.entries import entry_place
from gitops_mc.core.preview.inert import inert_entries
from gitops_mc.core.rules.policies import readable_policy
from gitops_mc.core.rules.pools import known_pools, selected
from gitops_mc.core.rules.shapes import at

_ORDERS = {
    MergeOrder.ALPHABETICAL: MergeOrder.ROLE_FIRST,
    MergeOrder.ROLE_FIRST: MergeOrder.ALPHABETICAL,
}
_ARGUMENTS = (EntryKind.KERNEL_ARGUMENT, EntryKind.KERNEL_ARGUMENTS)
_KEYS = (EntryKind.SSH_KEY, EntryKind.SSH_KEYS)


@dataclass(frozen=True, slots=True)
class Case:
    """One cluster before and after: what it has, not only what its folder says."""

    before: DesiredCluster
    after: DesiredCluster
    changed: frozenset[str]
    """Names of the configs that come or change."""
    gone: frozenset[str]
    """Names of those that Git has no more, whether they stay on the cluster or not."""
    order: MergeOrder

    @property
    def policy(self) -> Policy:
        """The policy by which nodes go: what comes holds already, what goes holds still."""
        return policy_of(_standing(_stated(self.before)), _stated(self.after))

    @property
    def policy_back(self) -> Policy:
        """The same for the way back."""
        return policy_of(_standing(_stated(self.after)), _stated(self.before))


@dataclass(frozen=True, slots=True)
class _Pool:
    """One pool before and after."""

    name: str
    comes_from: str
    configs: Mapping[str, Manifest]
    """Those it selects after, by name."""
    configs_before: Mapping[str, Manifest]
    homes: Mapping[str, Manifest]
    """The configs that head has, by name."""
    now: Effective
    then: Effective
    back: Effective
    """What it would have again if all that head brings were taken back: a pool that is new stays as long as it has nodes."""

    def origin(self, config: str, entry: Entry | None = None) -> Origin:
        manifest = self.homes.get(config)
        if manifest is None:
            return Origin(config)
        return Origin(config, manifest.place if entry is None else entry_place(manifest, entry))

    def origins(self, configs: Sequence[str], entry: Entry) -> tuple[Origin, ...]:
        return tuple(self.origin(config, entry) for config in configs)


@dataclass(frozen=True, slots=True)
class OnNodes:
    """What reaches nodes, and what does not."""

    pools: tuple[PoolChange, ...] = ()
    """Pools known from Git in which something changes, there or back, or a config that changes is merged without effect; by name."""
    unselected: tuple[WithoutEffect, ...] = ()
    """Configs that come or change, and that no pool known from Git selects."""
    refused: tuple[str, ...] = ()
    """Why a pool may not lose so many files and units at once."""


def on_nodes(case: Case, most: int) -> OnNodes:
    """`most`: files and units that may leave a pool at once."""
    pools = [_pool(case, name) for name in known_pools(case.after)]
    there = [pool for pool in pools if not pool.comes_from]
    limited = shrinking({p.name: p.now for p in there}, {p.name: p.then for p in there}, None, most)
    return OnNodes(
        tuple(_change(case, pool) for pool in pools if _moves(case, pool)),
        tuple(_unselected(case, pools)),
        tuple(refusal.reason for refusal in limited),
    )


def _moves(case: Case, pool: _Pool) -> bool:
    there = _written(case, pool) or entries_changed(pool.now, pool.then)
    return bool(there or entries_changed(pool.then, pool.back))


def _unselected(case: Case, pools: Sequence[_Pool]) -> Iterator[WithoutEffect]:
    taken = {config for pool in pools for config in pool.configs}
    known = ", ".join(pool.name for pool in pools)
    for manifest in case.after.of_kind(Kind.MACHINE_CONFIG):
        if manifest.key.name in case.changed and manifest.key.name not in taken:
            reason = f"no pool in the repository selects it (known here: {known})"
            yield WithoutEffect(Origin(manifest.key.name, manifest.place), reason)


def _pool(case: Case, name: str) -> _Pool:
    """Nodes of a pool that is new are taken to come from pool worker, which every custom pool inherits (ACP docs)."""
    comes_from = "" if name in known_pools(case.before) else WORKER_POOL
    before, after = selected(case.before, comes_from or name), selected(case.after, name)
    now = merge([m.body for m in before], case.order)
    return _Pool(
        name,
        comes_from,
        {m.key.name: m for m in after},
        {m.key.name: m for m in before},
        {m.key.name: m for m in case.after.of_kind(Kind.MACHINE_CONFIG) if m.key.name not in case.gone},
        now,
        merge([m.body for m in after], case.order),
        _taken_back(case, name) if comes_from else now,
    )


def _taken_back(case: Case, pool: str) -> Effective:
    """What a pool that is new selects of the configs of before."""
    own = [m for m in case.after.of_kind(Kind.MACHINE_CONFIG_POOL) if m.key.name == pool]
    without = replace(case.before, manifests=(*case.before.manifests, *own))
    return merge([m.body for m in selected(without, pool)], case.order)


def _written(case: Case, pool: _Pool) -> tuple[str, ...]:
    return tuple(name for name in pool.then.configs if name in case.changed)


def _change(case: Case, pool: _Pool) -> PoolChange:
    policy = case.policy
    disruption = disruption_of(pool.now, pool.then, policy)
    entries = tuple(_entries(pool, disruption))
    return PoolChange(
        pool.name,
        entries,
        disruption,
        revert=disruption_of(pool.then, pool.back, case.policy_back),
        configs=tuple(pool.origin(config) for config in pool.then.configs),
        without_effect=tuple(_without_effect(case, pool)),
        inert=inert_entries(entries, policy, pool.then, _policy_manifest(case.after)),
        order_matters=_order_matters(case, pool),
        comes_from=pool.comes_from,
        paused=_paused(case.after, pool.name),
    )


def _order_matters(case: Case, pool: _Pool) -> bool:
    bodies = [m.body for m in pool.configs.values()]
    inherited = {read(body).role in BUILT_IN_POOLS for body in bodies}
    return len(inherited) > 1 and bool(entries_changed(pool.then, merge(bodies, _ORDERS[case.order])))


def _entries(pool: _Pool, disruption: Disruption) -> Iterator[PoolEntry]:
    causes = {cause.entry: cause for cause in disruption.causes}
    keys = next((cause for cause in disruption.causes if cause.entry.kind is EntryKind.SSH_KEYS), None)
    for change in entries_changed(pool.now, pool.then):
        entry = change.entry
        cause = keys if entry.kind in _KEYS else causes[_decided_as(entry)]
        assert cause is not None
        owner, others, overridden = _say(pool, change)
        yield PoolEntry(
            change,
            pool.origin(owner, entry),
            pool.origins(others, entry),
            pool.origins(overridden, entry),
            cause.rule,
            cause.actions,
        )


def _decided_as(entry: Entry) -> Entry:
    """Under which entry a change stands among the causes."""
    if entry.kind in _ARGUMENTS:
        return KERNEL_ARGUMENTS
    return Entry(EntryKind.UNIT, entry.name) if entry.kind is EntryKind.DROPIN else entry


def _say(pool: _Pool, change: EntryChange) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Who decides an entry, who else has a say in it, and who has none left."""
    entry = change.entry
    side = pool.now if change.change is ChangeKind.REMOVED else pool.then
    if entry.kind in _ARGUMENTS:
        owners = [a.owner for a in side.kernel_arguments if entry.name in (a.value, "")]
        return owners[-1], tuple(dict.fromkeys(o for o in owners if o != owners[-1])), ()
    if entry.kind is EntryKind.SSH_KEYS:
        owners = [side.entries[key].owner for key in side.ssh_keys if key.name == entry.name]
        return owners[-1], tuple(dict.fromkeys(o for o in owners if o != owners[-1])), ()
    found = side.entries[entry]
    return found.owner, tuple(c for c in found.contributors if c != found.owner), found.overridden


def _without_effect(case: Case, pool: _Pool) -> Iterator[WithoutEffect]:
    for name in _written(case, pool):
        earlier = pool.configs_before.get(name)
        if _decides_alone(pool, name, earlier):
            continue
        others = [m.body for other, m in pool.configs.items() if other != name]
        without = merge([*others, *([] if earlier is None else [earlier.body])], case.order)
        if not entries_changed(without, pool.then):
            yield WithoutEffect(pool.origin(name), _reason(pool, name, earlier))


def _decides_alone(pool: _Pool, name: str, earlier: Manifest | None) -> bool:
    """Whether it changes an entry that no other config declares: seen without another merge."""
    for change in _own_changes(pool, name, earlier):
        found = pool.then.entries.get(change.entry)
        if found is not None and found.contributors == (name,) and not found.overridden:
            return True
    return False


def _own_changes(pool: _Pool, name: str, earlier: Manifest | None) -> tuple[EntryChange, ...]:
    """In what a config differs by itself from what it was."""
    was = merge([] if earlier is None else [earlier.body], MergeOrder.ALPHABETICAL)
    return entries_changed(was, effective_of(pool.configs[name].body))


def _reason(pool: _Pool, name: str, earlier: Manifest | None) -> str:
    changed = _own_changes(pool, name, earlier)
    if not changed:
        told = "its files, units, keys and kernel arguments are as they were"
        return told if earlier is not None else "it has no files, units, keys or kernel arguments"
    owners = {
        found.owner
        for change in changed
        if (found := pool.then.entries.get(change.entry)) is not None and found.owner != name
    }
    if owners:
        return f"what it changes is overridden by {', '.join(sorted(owners))}"
    return "other configs say the same already"


def _paused(cluster: DesiredCluster, pool: str) -> bool:
    manifest = cluster.get(ResourceKey(cluster.name, Kind.MACHINE_CONFIG_POOL, pool))
    return manifest is not None and at(manifest.body, "spec", "paused") is True


def _policy_manifest(cluster: DesiredCluster) -> Manifest | None:
    return cluster.get(ResourceKey(cluster.name, Kind.MACHINE_CONFIGURATION, POLICY_NAME))


def _stated(cluster: DesiredCluster) -> JsonObject | None:
    """The policy of the manifest, if there is one."""
    manifest = _policy_manifest(cluster)
    return None if manifest is None else readable_policy(manifest.body)


def _standing(stated: JsonObject | None) -> JsonObject | None:
    """A MachineConfiguration as it is on a cluster where that has been written, and shows in its status."""
    if stated is None:
        return None
    policies = stated["spec"]["nodeDisruptionPolicy"]
    return {**stated, "status": {"nodeDisruptionPolicyStatus": {"clusterPolicies": policies}}}
