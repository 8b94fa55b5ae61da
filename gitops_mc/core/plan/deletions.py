"""Which candidates for deletion go, which stay as orphans, and which stop the plan.

Limits count objects, and file paths and units that leave a pool's effective config. What content of ours created that
has never passed goes with its revert, outside the limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitops_mc.core.diff import Change, Delete, Orphan
from gitops_mc.core.gates.membership import nodes_in_pools
from gitops_mc.core.ignition import ChangeKind, Effective, EntryKind, MergeOrder, entries_changed
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import (
    Kind,
    ResourceKey,
    Unknown,
    count,
)
from gitops_mc.core.plan.steps import PlanRule, Refusal
from gitops_mc.core.plan.world import World
from gitops_mc.core.policy import Prune
from gitops_mc.core.pools import machine_count

_COUNTED = (EntryKind.FILE, EntryKind.UNIT)


@dataclass(frozen=True, slots=True)
class Sorted:
    """Changes that stay in the plan, orphans with the reason they stay, and refusals."""

    changes: tuple[Change, ...]
    kept: tuple[Orphan, ...]
    refusals: tuple[Refusal, ...]


def sort_deletions(
    changes: Sequence[Change], *, created: frozenset[ResourceKey], prune: Prune, owned: int, live: LiveCluster
) -> Sorted:
    """Divide the deletions. `owned` is the number of objects of this cluster that stand in the inventory."""
    staying: list[Change] = [c for c in changes if not isinstance(c, Delete)]
    kept: list[Orphan] = []
    refusals: list[Refusal] = []
    pruned: list[Delete] = []
    for change in changes:
        if not isinstance(change, Delete):
            continue
        reason = _reason_to_keep(change, created, prune, live)
        if reason:
            kept.append(Orphan(change.key, change.name, change.uid, reason))
            continue
        staying.append(change)
        if change.key not in created:
            pruned.append(change)
    if len(pruned) > prune.max_deletes:
        refusals.append(
            too_many([d.key for d in pruned], f"more than prune.maxDeletes ({prune.max_deletes})")
        )
    elif pruned and len(pruned) * 2 > owned:
        half = f"more than half of the {owned} objects we own on this cluster"
        refusals.append(too_many([d.key for d in pruned], half))
    return Sorted(tuple(sorted(staying, key=lambda c: c.key)), tuple(kept), tuple(refusals))


def _reason_to_keep(change: Delete, created: frozenset[ResourceKey], prune: Prune, live: LiveCluster) -> str:
    """Why a candidate stays. What is protected for good never was one: the diff sees to that."""
    if change.key.kind is Kind.MACHINE_CONFIG_POOL and (reason := _still_used(change, live)):
        return reason
    if change.key in created:
        return ""
    if change.prune == "disabled":
        return 'gitops-mc.io/prune: "disabled" stands on the live object'
    return "" if prune.enabled else "gone from Git; prune is not enabled in fleet.yaml"


def _still_used(change: Delete, live: LiveCluster) -> str:
    """A pool goes only when it is known to have no nodes, by its own count or by the nodes themselves."""
    counted = machine_count(change.live)
    membership = nodes_in_pools(live)
    seen = None
    if not isinstance(membership, Unknown):
        seen = sum(change.name in pools for pools in membership.pools.values())
    if counted or seen:
        inside = max(counted or 0, seen or 0)
        return f"{count(inside, 'node')} still in it; to be moved to another pool first"
    return "its nodes are not known" if counted is None and seen is None else ""


def too_many(deletions: Sequence[ResourceKey], limit: str) -> Refusal:
    """The refusal to delete so many objects."""
    names = ", ".join(f"{key.kind.value} {key.name}" for key in deletions)
    return Refusal(
        PlanRule.TOO_MANY_DELETIONS.value,
        f"{count(len(deletions), 'object')} would be deleted, {limit}: {names}. If that is meant, remove them in several commits, "
        "or raise prune.maxDeletes in a commit of its own before",
    )


def shrinking(
    before: Mapping[str, Effective],
    after: Mapping[str, Effective],
    passed: Mapping[str, Effective] | None,
    limit: int,
) -> tuple[Refusal, ...]:
    """Refusals for pools that would lose more file paths and units than `limit`.

    `passed` is each pool's config under the content the cluster passed last: what was never in it leaves with a revert
    and is not counted. None: not known, so everything counts.
    """
    refusals = []
    for pool in sorted(before.keys() & after.keys()):
        settled = passed.get(pool) if passed is not None else None
        gone = [
            change.entry
            for change in entries_changed(before[pool], after[pool])
            if change.change is ChangeKind.REMOVED
            and change.entry.kind in _COUNTED
            and (settled is None or change.entry in settled.entries)
        ]
        if len(gone) > limit:
            refusals.append(
                Refusal(
                    PlanRule.TOO_MANY_REMOVALS.value,
                    f"{count(len(gone), 'file or unit', 'files and units')} would leave pool {pool}, more than prune.maxDeletes ({limit}): "
                    f"{', '.join(str(e) for e in gone[:5])}{' ...' if len(gone) > 5 else ''}. If that is meant, do it in "
                    "several commits, or raise prune.maxDeletes in a commit of its own before",
                )
            )
    return tuple(refusals)


def orders_disagree(world: World, pool: str) -> bool:
    """Whether the two possible merge orders give this pool different configs."""
    return bool(
        entries_changed(
            world.effective(pool, MergeOrder.ALPHABETICAL), world.effective(pool, MergeOrder.ROLE_FIRST)
        )
    )
