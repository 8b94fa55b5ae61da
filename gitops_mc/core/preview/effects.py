"""What a pull request does to nodes, summed up over clusters: by Git alone, or on the live fleet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gitops_mc.core.disruption import Action, ActionType, Cause, Disruption
from gitops_mc.core.ignition import Entry
from gitops_mc.core.preview.changed import PullChanges
from gitops_mc.core.rollout.preview import ClusterPreview, FleetPreview


class Deed(StrEnum):
    """What becomes of a node, the most serious first."""

    REBOOT = "reboot"
    DRAIN = "drain"
    SERVICES = "services"
    """Something is restarted or reloaded; no pod is moved."""
    FILES = "files"
    """It is written, and nothing takes it up."""


_RUNS = (ActionType.RESTART, ActionType.RELOAD, ActionType.DAEMON_RELOAD, ActionType.SPECIAL)


def deed_of(actions: Iterable[Action]) -> Deed:
    """The most serious of what the actions come to."""
    types = {action.type for action in actions}
    if ActionType.REBOOT in types:
        return Deed.REBOOT
    if ActionType.DRAIN in types:
        return Deed.DRAIN
    return Deed.SERVICES if types.intersection(_RUNS) else Deed.FILES


@dataclass(frozen=True, slots=True)
class Effect:
    """One deed, and to whom it is done."""

    deed: Deed
    clusters: tuple[str, ...]
    """In the order in which they come."""
    pools: tuple[str, ...]
    """By name, over all clusters."""
    nodes: int | None
    """None: only the clusters can say."""
    causes: tuple[Cause, ...]
    """Those that decide it; what concerns the most nodes (or pools) comes first."""
    services: tuple[str, ...] = ()
    """What is restarted or reloaded."""


@dataclass(slots=True)
class _Sum:
    """One deed, while it is being summed up."""

    clusters: dict[str, None] = field(default_factory=dict)
    pools: set[str] = field(default_factory=set)
    nodes: int = 0
    causes: Counter[Cause] = field(default_factory=Counter)

    def add(self, cluster: str, pool: str, weight: int, causes: Iterable[Cause]) -> None:
        self.clusters[cluster] = None
        self.pools.add(pool)
        self.nodes += weight
        self.causes.update(dict.fromkeys(causes, weight))


def effects_by_git(changes: PullChanges) -> tuple[Effect, ...]:
    """Of a node that stands at the merge base, by the policy that Git says; the most serious first."""
    sums: dict[Deed, _Sum] = {}
    for cluster in changes.clusters:
        for pool in cluster.pools:
            causes = pool.disruption.causes
            if causes:
                _take(sums, (cluster.name, pool.pool), 1, causes)
    return _effects(sums, lambda _: None)


def effects_on(live: FleetPreview, already: FleetPreview, changes: PullChanges) -> tuple[Effect, ...]:
    """What merging does to the nodes of the live clusters on top of what is done to them without it; the most serious first. A node
    that reboots anyway is not rebooted by a pull request that only writes a file there.
    """
    before = {c.name: _entries(c) for c in already.clusters}
    by_git = {c.name: {x.entry for p in c.pools for x in p.disruption.causes} for c in changes.clusters}
    sums: dict[Deed, _Sum] = {}
    for cluster in live.clusters:
        known = before.get(cluster.name, {})
        touched = by_git.get(cluster.name, set())
        for impact in cluster.impacts:
            pending = known.get(impact.pool, frozenset())
            for group in impact.nodes:
                own = [c for c in group.disruption.causes if c.entry in touched or c.entry not in pending]
                if own:
                    _take(sums, (cluster.name, impact.pool), group.count, own)
    return _effects(sums, lambda nodes: nodes)


def rebooting_anyway(already: FleetPreview) -> int:
    """Nodes that reboot without the pull request, as soon as base is rolled out."""
    return sum(cluster.rebooting for cluster in already.clusters)


def _entries(cluster: ClusterPreview) -> Mapping[str, frozenset[Entry]]:
    """By pool: entries that change on some node."""
    return {i.pool: frozenset(_changed(n.disruption for n in i.nodes)) for i in cluster.impacts}


def _changed(disruptions: Iterable[Disruption]) -> Iterable[Entry]:
    return (cause.entry for disruption in disruptions for cause in disruption.causes)


def _take(sums: dict[Deed, _Sum], where: tuple[str, str], weight: int, causes: Iterable[Cause]) -> None:
    """What several causes come to is what the most serious of them does."""
    by_deed: dict[Deed, list[Cause]] = {}
    for cause in causes:
        by_deed.setdefault(deed_of(cause.actions), []).append(cause)
    worst = next(deed for deed in Deed if deed in by_deed)
    sums.setdefault(worst, _Sum()).add(*where, weight, by_deed[worst])


def _effects(sums: Mapping[Deed, _Sum], nodes_of: Callable[[int], int | None]) -> tuple[Effect, ...]:
    return tuple(_effect(deed, sums[deed], nodes_of) for deed in Deed if deed in sums)


def _effect(deed: Deed, found: _Sum, nodes_of: Callable[[int], int | None]) -> Effect:
    causes = sorted(found.causes.items(), key=lambda item: (-item[1], str(item[0])))
    services = sorted({a.service for cause, _ in causes for a in cause.actions if a.service})
    return Effect(
        deed,
        tuple(found.clusters),
        tuple(sorted(found.pools)),
        nodes_of(found.nodes),
        tuple(cause for cause, _ in causes),
        tuple(services),
    )
