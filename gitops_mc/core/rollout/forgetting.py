"""Forgetting a cluster: its memory is dropped, and our marks are taken off what we wrote there. Nothing is ever deleted."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.diff.case import Fleet as FleetMarks
from gitops_mc.core.live import Fact, LiveCluster
from gitops_mc.core.model import (
    APPLIED_ANNOTATION,
    FLEET_LABEL,
    JsonObject,
    Kind,
    Unknown,
    annotations_of,
    count,
    labels_of,
    name_of,
    named,
)
from gitops_mc.core.plan import title_of
from gitops_mc.core.rollout.abort_marks import stopped_pools
from gitops_mc.core.rollout.acting import ActResult, By, Changed, no_such_cluster
from gitops_mc.core.rollout.brackets import annotation_path, label_path, tested
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import ObjectPatch, Unmark
from gitops_mc.core.rollout.next_step import marked_pools


def forget(memory: FleetMemory, cluster: str, by: By) -> ActResult:
    """Drop all that is remembered of a cluster. One that is still in Git is met as for the first time; a halt that it is in
    stays, for what failed there may be what Git still says.
    """
    if cluster not in memory.clusters:
        return no_such_cluster(memory, cluster)
    m = memory.cluster(cluster)
    kept = count(len(m.inventory), "object")
    said = [f"{cluster} is forgotten; nothing of it is deleted, {kept} of ours may stay there"]
    if m.step is not None:
        pools = named("pool", m.step.pools)
        said.append(
            f"its step for {title_of(m.step.step)} was open: {pools} may stand paused by us, and is unpaused by hand alone"
        )
    elif m.begun and not m.out and m.touched:
        said.append(
            f"{named('pool', m.touched)} may still roll with what was written, and counts for no budget any more: other "
            "clusters may start beside it"
        )
    if memory.halt is not None and cluster in memory.halt.clusters:
        said.append(f"the halt stays, for it had failed: gitops-mc release {cluster} lifts it")
    return Changed(memory.without_cluster(cluster).with_act(by.act(f"forget {cluster}")), tuple(said))


def unmarking(memory: FleetMemory, cluster: str, live: LiveCluster, fleet: str) -> Unmark | None:
    """Take our label and annotation off the live objects of the inventory that carry them; None where none does. A mark of
    another fleet stays. A ModuleInfo carries none of ours.
    """
    ours = {(entry.kind, entry.written.name) for entry in memory.cluster(cluster).inventory}
    patches = tuple(
        ObjectPatch(kind, name_of(body), operations)
        for kind, body in _live(live)
        if (kind, name_of(body)) in ours
        and (operations := _without_marks(body, FleetMarks(fleet, {}, frozenset())))
    )
    return Unmark(cluster, patches) if patches else None


def left_paused(live: LiveCluster) -> tuple[str, ...]:
    """Pools that a step of ours, or an abort, keeps paused: whoever forgets their cluster has to let them run by hand."""
    return tuple(sorted({*marked_pools(live), *stopped_pools(live)}))


def _live(live: LiveCluster) -> Iterator[tuple[Kind, JsonObject]]:
    facts: dict[Kind, Fact] = {
        Kind.MACHINE_CONFIG: live.configs,
        Kind.MACHINE_CONFIG_POOL: live.pools,
        Kind.MACHINE_CONFIGURATION: live.policies,
    }
    for kind, fact in facts.items():
        if not isinstance(fact, Unknown):
            yield from ((kind, body) for body in fact.value.values())


def _without_marks(body: JsonObject, fleet: FleetMarks) -> tuple[JsonObject, ...]:
    label = labels_of(body).get(FLEET_LABEL)
    if label is not None and not fleet.is_ours(label):
        return ()
    removed: list[JsonObject] = []
    if label is not None:
        removed.append({"op": "remove", "path": label_path(FLEET_LABEL)})
    if APPLIED_ANNOTATION in annotations_of(body):
        removed.append({"op": "remove", "path": annotation_path(APPLIED_ANNOTATION)})
    return (tested(body), *removed) if removed else ()
