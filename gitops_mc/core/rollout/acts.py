"""What a human may do to the memory: pure, memory -> memory, and what has changed.

Every act is kept with who did it, when and why. An act that would change nothing is not one: `Unchanged` says why. What is
done about failures stands in `lifting`, what is forgotten in `forgetting`, what one content is allowed in `allowing`; all of it
is to be had from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from gitops_mc.core.model import Content
from gitops_mc.core.plan import DRIFT, drift_id, title_of
from gitops_mc.core.rollout.acting import (
    ActResult,
    By,
    Changed,
    Unchanged,
    moment,
    no_such_cluster,
    short,
)
from gitops_mc.core.rollout.allowing import hurry, override, override_all
from gitops_mc.core.rollout.forgetting import forget
from gitops_mc.core.rollout.lifting import release, release_all, retry, rollback, rollback_all
from gitops_mc.core.rollout.memory import Excuse, FleetMemory

__all__ = [
    "ActResult",
    "By",
    "Changed",
    "Unchanged",
    "accept",
    "approved",
    "excuse",
    "findings",
    "forget",
    "hurry",
    "moment",
    "overridden",
    "override",
    "override_all",
    "release",
    "release_all",
    "retry",
    "rollback",
    "rollback_all",
    "skip",
    "unexcuse",
    "unskip",
]


MOST_EXCUSED: Final = 200
"""Nodes of one cluster; an object holds no more (deploy/crds)."""
MOST_ACCEPTED: Final = 500
"""Of one cluster; the oldest give way, and are asked about again where they still stand."""


# ---------------------------------------------------------------------------------------------------------- skip


def skip(memory: FleetMemory, cluster: str, content: Content, by: By) -> ActResult:
    """Leave a cluster out for this content; newer content asks for it again."""
    m = memory.cluster(cluster)
    if m.skipped == content:
        return Unchanged(
            f"cluster {cluster} is skipped for this content already", f"undo: gitops-mc skip {cluster} --undo"
        )
    if m.out and m.started == content:
        return Unchanged(f"cluster {cluster} has passed with this content: there is nothing to skip")
    said = [
        f"{cluster} is left out of the rollout of content {short(content)}; newer content takes it in again"
    ]
    if m.step is not None:
        said.append(
            f"its step for {title_of(m.step.step)} stays open, and may keep it paused until the cluster is taken in again"
        )
    if m.failure is not None and m.begun:
        said.append(f"its failure still counts against maxFailures: gitops-mc release {cluster} lifts that")
    after = memory.with_cluster(cluster, replace(m, skipped=content))
    return Changed(after.with_act(by.act(f"skip {cluster}")), tuple(said))


def unskip(memory: FleetMemory, cluster: str, by: By) -> ActResult:
    """Take a skipped cluster in again."""
    m = memory.cluster(cluster)
    if m.skipped is None:
        known = cluster in memory.clusters
        return Unchanged(f"cluster {cluster} is not skipped") if known else no_such_cluster(memory, cluster)
    after = memory.with_cluster(cluster, replace(m, skipped=None))
    return Changed(after.with_act(by.act(f"skip {cluster} --undo")), (f"{cluster} takes part again",))


# -------------------------------------------------------------------------------------------------------- excuse


def excuse(memory: FleetMemory, cluster: str, node: str, until: datetime, by: By) -> ActResult:
    """Leave one node out of its pool's gate until a time. `by.why` is the reason that is shown with it."""
    if cluster not in memory.clusters:
        return no_such_cluster(memory, cluster)
    m = memory.cluster(cluster)
    made = Excuse(node, by.why, until)
    if made in m.excused:
        return Unchanged(f"node {node} of {cluster} is excused like this already, until {_at(until)}")
    kept = tuple(e for e in m.excused if e.node != node and e.until > by.at)
    moved = any(e.node == node and e.until > by.at for e in m.excused)
    if len(kept) >= MOST_EXCUSED:
        return Unchanged(
            f"{MOST_EXCUSED} nodes of {cluster} are excused already",
            "count some of them again, or let them run out",
        )
    told = (
        f"node {node} of {cluster} is now excused until {_at(until)}"
        if moved
        else f"node {node} of {cluster} is excused until {_at(until)}: its pool's gate looks at the other nodes one by one"
    )
    after = memory.with_cluster(cluster, replace(m, excused=(*kept, made)))
    return Changed(after.with_act(by.act(f"excuse {node} --cluster {cluster} until {_at(until)}")), (told,))


def unexcuse(memory: FleetMemory, cluster: str, node: str, by: By) -> ActResult:
    """Count a node again."""
    if cluster not in memory.clusters:
        return no_such_cluster(memory, cluster)
    m = memory.cluster(cluster)
    kept = tuple(e for e in m.excused if e.node != node)
    if kept == m.excused:
        named = ", ".join(e.node for e in m.excused) or "none"
        return Unchanged(f"node {node} of {cluster} is not excused; excused are: {named}")
    after = memory.with_cluster(cluster, replace(m, excused=kept))
    act = by.act(f"excuse {node} --cluster {cluster} --undo")
    return Changed(after.with_act(act), (f"node {node} of {cluster} counts again",))


# -------------------------------------------------------------------------------------------------------- accept


def findings(memory: FleetMemory) -> Mapping[str, tuple[str, ...]]:
    """Ids of gate findings that stand and are not accepted, by cluster."""
    found = {
        name: tuple(sorted({c.mismatch for c in m.pool_clocks.values() if c.mismatch} - {*m.accepted}))
        for name, m in sorted(memory.clusters.items())
    }
    return {name: ids for name, ids in found.items() if ids}


def accept(memory: FleetMemory, gate: str, cluster: str | None, by: By) -> ActResult:
    """Accept a finding of a pool gate, or that Git's side wins over what was changed by hand (`drift:KIND/NAME`, of an object
    we wrote), by its id. Without a cluster: the one that shows it, or has it.
    """
    if cluster is not None and cluster not in memory.clusters:
        return no_such_cluster(memory, cluster)
    drifted = _drifted(memory, gate)
    shown = drifted or tuple(name for name, ids in findings(memory).items() if gate in ids)
    where = [name for name in shown if cluster in {None, name}]
    if not where:
        return _nothing_to_accept(memory, gate, cluster)
    if len(where) > 1:
        return Unchanged(f"{gate} is shown by {', '.join(where)}", "say for which one: --cluster CLUSTER")
    m = memory.cluster(where[0])
    after = memory.with_cluster(where[0], replace(m, accepted=(*m.accepted, gate)[-MOST_ACCEPTED:]))
    told = (
        f"Git's side wins for {gate.removeprefix(DRIFT)} of {where[0]}: the next apply writes it over what was changed by hand"
        if drifted
        else f"finding {gate} of {where[0]} is accepted: its pool opens once it has settled with it"
    )
    return Changed(after.with_act(by.act(f"accept {gate} --cluster {where[0]}")), (told,))


def _drifted(memory: FleetMemory, gate: str) -> tuple[str, ...]:
    """Clusters for which we wrote the object of a `drift:` id; whether it drifted only a look at the cluster tells."""
    return tuple(
        name
        for name, m in sorted(memory.clusters.items())
        if gate in {drift_id(entry.key(name)) for entry in m.inventory} - {*m.accepted}
    )


def _nothing_to_accept(memory: FleetMemory, gate: str, cluster: str | None) -> Unchanged:
    accepted = [n for n, m in memory.clusters.items() if gate in m.accepted and cluster in {None, n}]
    if accepted:
        return Unchanged(f"{gate} of {accepted[0]} is accepted already")
    shown = [
        f"{i} ({name})" for name, ids in findings(memory).items() for i in ids if cluster in {None, name}
    ]
    told = f"; standing: {', '.join(shown)}" if shown else "; none stands at this moment"
    return Unchanged(
        f"no gate shows a finding {gate}{told}", "gitops-mc status and gitops-mc why show the ids"
    )


# ------------------------------------------------------------------------------------------------------ approval


def approved(memory: FleetMemory, name: str, by: By) -> FleetMemory:
    """Keep that a human approved a wave or a first contact; the rollout itself binds it to contents."""
    return memory.with_act(by.act(f"apply --approve {name}"))


def overridden(memory: FleetMemory, clusters: str, by: By) -> FleetMemory:
    """Keep that a human let the change windows of these clusters not count; it holds for that run alone."""
    return memory.with_act(by.act(f"apply --override-window {clusters}"))


def _at(when: datetime) -> str:
    return when.isoformat(timespec="seconds")
