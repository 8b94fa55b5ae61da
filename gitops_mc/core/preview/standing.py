"""How the live fleet stands while somebody looks at a pull request: what is under way, and what is not known."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

from gitops_mc.core.model import Unknown
from gitops_mc.core.preview.model import SoakingWave, UnderWay, UnreadCluster
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory
from gitops_mc.core.rollout.moves import ClusterView, Decision, Standing
from gitops_mc.core.rollout.preview import ClusterPreview, FleetPreview
from gitops_mc.core.rollout.waves import lines, remembered, soaks_since

_QUIET: Final = (Standing.PASSED, Standing.READY, Standing.SKIPPED, Standing.UNREGISTERED, Standing.NOT_KNOWN)
"""Nothing is going on there, or nobody can say."""


def under_way(decision: Decision, memory: FleetMemory, looked_at: Collection[str]) -> tuple[UnderWay, ...]:
    """What goes on in the fleet without the pull request: of the clusters that were looked at as they are now, of the others as they
    are remembered. `decision` is that of a pass on base.
    """
    found: list[UnderWay] = []
    for view in decision.clusters:
        own = memory.cluster(view.cluster)
        found += _seen(view, own) if view.cluster in looked_at else _remembered(view.cluster, own)
    return tuple(found)


def soaking(base: Fleet, memory: FleetMemory, now: datetime) -> tuple[SoakingWave, ...]:
    """Waves that soak with the contents that base gives them, as it is remembered."""
    clusters = {cluster.name: cluster for cluster in base.clusters}
    ordered, _ = lines(base.policy, base.clusters)
    found = []
    for line in ordered:
        since = soaks_since(line.wave, remembered(line, clusters, memory.waves.get(line.wave.name)), now)
        if since is not None:
            found.append(SoakingWave(line.wave.name, since, line.wave.soak))
    return tuple(found)


def _seen(view: ClusterView, memory: ClusterMemory) -> Iterator[UnderWay]:
    if view.standing not in _QUIET:
        yield UnderWay(view.cluster, view.standing, view.reason, _since(view.standing, memory))


def _remembered(cluster: str, memory: ClusterMemory) -> Iterator[UnderWay]:
    if memory.failure is not None:
        yield UnderWay(cluster, Standing.FAILED, memory.failure.reason, memory.failure.at)
    elif memory.rollback is not None and not memory.out:
        told = f"on its way back from what failed: {memory.rollback.failed.reason}"
        yield UnderWay(cluster, Standing.IN_FLIGHT, told, memory.rollback.at)
    elif memory.started is not None and not memory.out and memory.skipped != memory.started:
        told = "was begun and has not passed, as it is remembered; nobody has looked there now"
        yield UnderWay(cluster, Standing.IN_FLIGHT, told, memory.admitted_at)


def _since(standing: Standing, memory: ClusterMemory) -> datetime | None:
    match standing:
        case Standing.FAILED:
            return None if memory.failure is None else memory.failure.at
        case Standing.UNREACHABLE:
            return memory.dark_since
        case Standing.IN_FLIGHT:
            return memory.admitted_at
        case _:
            return None


def unread(outcome: FleetPreview, already: FleetPreview, now: datetime) -> tuple[UnreadCluster, ...]:
    """Clusters of which something was not read that decides what becomes of them; each once, in the order in which they come."""
    found: dict[str, UnreadCluster] = {}
    for cluster in (*outcome.clusters, *already.clusters):
        if cluster.name not in found and (missing := _unread(cluster, now)) is not None:
            found[cluster.name] = missing
    return tuple(found.values())


def _unread(cluster: ClusterPreview, now: datetime) -> UnreadCluster | None:
    live = cluster.live
    if live.dark is not None:
        return UnreadCluster(cluster.name, live.dark.reason, live.dark.since)
    facts = (live.machine_apis, live.inventory, live.modules, live.pools, live.configs, live.policies)
    missing = [fact for fact in facts if isinstance(fact, Unknown)]
    if cluster.plan is not None and cluster.plan.writes and isinstance(live.nodes, Unknown):
        missing.append(live.nodes)
    if cluster.unknown:
        return UnreadCluster(cluster.name, cluster.unknown, min((f.since for f in missing), default=now))
    if missing:
        return UnreadCluster(cluster.name, missing[0].reason, missing[0].since)
    return None
