"""What a pull request changes, by Git alone: the merge base against head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gitops_mc.core.desired import DesiredState
from gitops_mc.core.ignition import MergeOrder
from gitops_mc.core.model import (
    Content,
    DesiredCluster,
    FleetScope,
    JsonObject,
    Kind,
    Manifest,
    Problem,
    Severity,
    canonical_json,
)
from gitops_mc.core.policy import Prune
from gitops_mc.core.preview.changed import ChangeOf, ClusterChange, ObjectChange, PullChanges
from gitops_mc.core.preview.effective import Case, OnNodes, on_nodes
from gitops_mc.core.preview.objects import (
    module_changes,
    object_changes,
    prune_of,
    refused_deletions,
    standing_after,
)
from gitops_mc.core.preview.problems import compare_problems
from gitops_mc.core.preview.settings import setting_changes
from gitops_mc.core.rollout.waves import lines


def pull_changes(
    before: DesiredState, after: DesiredState, order: MergeOrder = MergeOrder.ALPHABETICAL
) -> PullChanges:
    """Everything in which head differs from the merge base. Both were read to their end; the same two give the same value,
    wherever it is made. `order`: in which the operators are taken to merge configs; by name, as the platform's docs say.
    """
    problems = compare_problems(before.problems, after.problems)
    if (
        before.fleet_blocked or after.fleet_blocked
    ):  # whose sets and members are whose is not known on that side
        return PullChanges(
            clusters=(),
            untouched=len(after.clusters),
            new_problems=problems.new,
            old_problems=problems.old,
            solved=problems.solved,
            fleet_blocked=after.fleet_blocked,
            base_blocked=before.fleet_blocked,
        )
    makings = _Makings(prune_of(before.policy.prune, after.policy.prune), order, frozenset(problems.new))
    earlier = {cluster.name: cluster for cluster in before.clusters}
    later = {cluster.name: cluster for cluster in after.clusters}
    waves_before, waves = _waves(before), _waves(after)
    moved_from = _moved(before, after, waves_before, waves)
    changed = []
    for name in (*waves, *sorted(earlier.keys() - later.keys())):
        found = _cluster(name, earlier.get(name), later.get(name), makings)
        moved = moved_from.get(name)
        if found.membership is not ChangeOf.CHANGED or moved is not None or makings.touches(found, earlier):
            changed.append(replace(found, wave=waves.get(name, ""), moved_from=moved))
    return PullChanges(
        clusters=tuple(changed),
        untouched=len(later) - sum(found.name in later for found in changed),
        settings=setting_changes(before.policy, after.policy),
        new_problems=problems.new,
        old_problems=problems.old,
        solved=problems.solved,
    )


@dataclass(frozen=True, slots=True)
class _Makings:
    """What all clusters have in common, and what was worked out for one of them and holds for all that have the same: hundreds
    of clusters may differ by one shared file.
    """

    prune: Prune
    order: MergeOrder
    new_problems: frozenset[Problem]
    same: dict[tuple[int, int], bool] = field(default_factory=dict)
    on_nodes: dict[tuple[object, ...], OnNodes] = field(default_factory=dict)

    def touches(self, found: ClusterChange, earlier: Mapping[str, DesiredCluster]) -> bool:
        """Whether a cluster that stays differs: in what is written, or in whether anything of it may be."""
        was_blocked = bool(_errors(earlier[found.name])) and not found.blocked
        return bool(found.objects) or was_blocked or any(p in self.new_problems for p in found.blocked)

    def same_body(self, one: JsonObject, other: JsonObject) -> bool:
        """1 and true are equal in Python, and are not in JSON. Bodies live as long as this does, so their ids are theirs."""
        if one is other:
            return True
        key = (id(one), id(other))
        if key not in self.same:
            self.same[key] = one == other and canonical_json(one) == canonical_json(other)
        return self.same[key]

    def nodes_of(
        self, before: DesiredCluster, after: DesiredCluster, objects: Sequence[ObjectChange]
    ) -> OnNodes:
        key = (_identity(before), _identity(after))
        if key not in self.on_nodes:
            configs = {o.key.name: o.change for o in objects if o.key.kind is Kind.MACHINE_CONFIG}
            gone = frozenset(name for name, change in configs.items() if change is ChangeOf.REMOVED)
            standing = standing_after(before, after, self.prune)
            case = Case(before, standing, frozenset(configs) - gone, gone, self.order)
            self.on_nodes[key] = on_nodes(case, self.prune.max_deletes)
        return self.on_nodes[key]


def _cluster(
    name: str, before: DesiredCluster | None, after: DesiredCluster | None, makings: _Makings
) -> ClusterChange:
    """Without its wave. Of a folder that goes nothing is deleted: the objects stay as they are."""
    if after is None:
        return ClusterChange(name, "", ChangeOf.REMOVED)
    membership = ChangeOf.ADDED if before is None else ChangeOf.CHANGED
    blocked = _errors(after)
    if before is not None and before.content == after.content:
        return ClusterChange(name, "", membership, blocked=blocked)
    earlier = before or DesiredCluster(name, (), Content(""))
    objects = object_changes(earlier.manifests, after.manifests, makings.prune, makings.same_body)
    found = OnNodes() if blocked else makings.nodes_of(earlier, after, objects)
    return ClusterChange(
        name,
        "",
        membership,
        objects=objects,
        pools=found.pools,
        modules=tuple(module_changes(objects)),
        unselected=found.unselected,
        refused=(*refused_deletions(objects, makings.prune), *found.refused),
        blocked=blocked,
    )


def _identity(cluster: DesiredCluster) -> tuple[object, ...]:
    """What decides the pools of a cluster, and where it stands; not its name."""
    return tuple(_of(m) for m in cluster.manifests if m.key.kind is not Kind.MODULE_INFO)


def _of(manifest: Manifest) -> tuple[object, ...]:
    return (manifest.key.kind.value, manifest.key.name, id(manifest.body), manifest.place)


def _errors(cluster: DesiredCluster) -> tuple[Problem, ...]:
    """What blocks this cluster, without what blocks the whole fleet."""
    return tuple(
        p for p in cluster.problems if p.severity is Severity.ERROR and not isinstance(p.scope, FleetScope)
    )


def _waves(state: DesiredState) -> dict[str, str]:
    """Of every cluster its wave, in the order in which they come; those that no wave takes last."""
    ordered, homeless = lines(state.policy, state.clusters)
    found = {name: line.wave.name for line in ordered for name in line.members}
    return {**found, **dict.fromkeys(homeless, "")}


def _moved(
    before: DesiredState, after: DesiredState, waves_before: Mapping[str, str], waves: Mapping[str, str]
) -> Mapping[str, str]:
    """Of clusters that stay and fall into another wave: the one they were in. Where one side has no waves at all, that is a
    setting.
    """
    named = before.policy.rollout.waves is not None and after.policy.rollout.waves is not None
    if not named:
        return {}
    return {name: was for name, was in waves_before.items() if name in waves and waves[name] != was}
