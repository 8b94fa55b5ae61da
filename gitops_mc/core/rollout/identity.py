"""Whether each name leads to a cluster of its own: a gateway, or a kubeconfig, may answer with another cluster's objects.

Such a cluster is taken for one that does not answer: nothing that it says is believed, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from gitops_mc.core.live import Dark, Fact, LiveCluster
from gitops_mc.core.model import Kind, Outage, Unknown, uid_of
from gitops_mc.core.rollout.memory import FleetMemory

_WHAT_TO_DO = (
    "; compare metadata.uid of their pools (kubectl get machineconfigpools -o yaml), then mend the gateway or the contexts of "
    "the kubeconfig"
)
_SAME = "{0} answers with the pools of {1}: both names lead to one cluster" + _WHAT_TO_DO
_OTHERS = "{0} answers with what was written on {1}: the name leads to another cluster" + _WHAT_TO_DO


def told_apart(
    live: Mapping[str, LiveCluster], memory: FleetMemory, now: datetime
) -> Mapping[str, LiveCluster]:
    """What was read, where no object stands in two clusters, nor in another one than that which it was written for: the
    server gives each object a uid that no other object ever has (Kubernetes docs, "Object Names and IDs").
    """
    reasons = {**_written_elsewhere(live, memory), **_same_pools(live)}
    return {
        name: replace(cluster, dark=cluster.dark or Dark(reasons[name], Outage.OTHER, now))
        if name in reasons
        else cluster
        for name, cluster in live.items()
    }


def _same_pools(live: Mapping[str, LiveCluster]) -> Mapping[str, str]:
    """Clusters that show one and the same pool, and why neither is believed."""
    seen: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for name, cluster in live.items():
        for uid in _uids(cluster.pools):
            other = seen.setdefault(uid, name)
            if other != name:
                reasons[name] = _SAME.format(name, other)
                reasons.setdefault(other, _SAME.format(other, name))
    return reasons


def _written_elsewhere(live: Mapping[str, LiveCluster], memory: FleetMemory) -> Mapping[str, str]:
    """Clusters that show an object which was written for another cluster of the fleet, and not for them."""
    written = {name: _written(memory, name) for name in live}
    owner = {uid: name for name, uids in written.items() for uid in uids}
    reasons = {}
    for name, cluster in live.items():
        for uid in (*_uids(cluster.configs), *_uids(cluster.pools)):
            other = owner.get(uid, name)
            if other != name and uid not in written[name]:
                reasons[name] = _OTHERS.format(name, other)
    return reasons


def _uids(fact: Fact) -> Iterator[str]:
    if not isinstance(fact, Unknown):
        yield from filter(None, map(uid_of, fact.value.values()))


def _written(memory: FleetMemory, cluster: str) -> frozenset[str]:
    """Uids of what was written on the cluster itself; modules stand on global."""
    entries = memory.cluster(cluster).inventory
    return frozenset(e.written.uid for e in entries if e.kind is not Kind.MODULE_INFO and e.written.uid)
