"""Reading what stands on the nodes that a change drains: pods, page by page, and budgets.

Only where a node is drained, and only what is asked of each pod is kept: a cluster of 500 nodes has tens of thousands of pods of
several KiB. Where few nodes are drained their pods are asked for by node, and then counted in their namespaces; else all pods are
gone through once. A server that answers by node from its memory (Kubernetes 1.31) does either at little cost; an older one goes
through all pods for every question, so that few are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import Final

from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.ports import Clock, Workers
from gitops_mc.core.errors import ForbiddenError, GitopsMcError, GoneError, UnreachableError
from gitops_mc.core.model import JsonObject, Unknown
from gitops_mc.core.preview.drains import drains_of
from gitops_mc.core.preview.hindrances import Drains, DrainsNotRead
from gitops_mc.core.preview.node_notes import Drained, drained, node_notes
from gitops_mc.core.preview.workloads import Workloads, budgets_of, survey
from gitops_mc.core.rollout.preview import ClusterPreview

LONGEST: Final = timedelta(seconds=60)
"""What the pods of one cluster may take, from the first page to the last."""
FEW_NODES: Final = 10
"""More are not asked for one by one."""
FEW_OF: Final = 8
"""Nor is more than one node of so many."""
FEW_NAMESPACES: Final = 20
_RESTARTS: Final = 3
_UNFINISHED: Final = "status.phase!=Succeeded,status.phase!=Failed"


def observe_fleet_drains(
    api: ClusterApi, clock: Clock, workers: Workers, clusters: Iterable[ClusterPreview]
) -> Mapping[str, Drains | DrainsNotRead]:
    """By cluster, of those where a node is drained; side by side. One that is too slow is not read, and says so."""
    found = {c.name: c for c in clusters if drained(c.impacts, c.live).any}
    jobs: dict[str, Callable[[], Drains | DrainsNotRead | None]] = {
        _key(cluster): partial(observe_drains, api, clock, cluster) for cluster in found.values()
    }
    answers = workers.map(jobs, within=LONGEST.total_seconds()) if jobs else {}
    late = Unknown(f"no answer within {LONGEST.total_seconds():.0f} seconds", clock.now())
    seen: dict[str, Drains | DrainsNotRead] = {}
    for name, cluster in found.items():
        answer = answers.get(_key(cluster))
        if isinstance(answer, BaseException):
            raise answer
        seen[name] = answer or _judged(drained(cluster.impacts, cluster.live), late, cluster)
    return seen


def _key(cluster: ClusterPreview) -> str:
    """Of another plan another one: an answer that comes late is no answer to what is asked then."""
    return f"drains/{cluster.name}/{'' if cluster.plan is None else cluster.plan.digest}"


def observe_drains(api: ClusterApi, clock: Clock, cluster: ClusterPreview) -> Drains | DrainsNotRead | None:
    """What is in the way on the nodes that this plan drains; None: it drains none. Never raises for what the cluster does."""
    found = drained(cluster.impacts, cluster.live)
    if not found.any:
        return None
    if found.nameless and not found.nodes:
        return _judged(found, Unknown("nodes were not read", clock.now()), cluster)
    total = 0 if isinstance(cluster.live.nodes, Unknown) else len(cluster.live.nodes.value)
    return _judged(found, _PodReader(api, clock, cluster.name, found).read(total), cluster)


def _judged(
    found: Drained, workloads: Workloads | Unknown, cluster: ClusterPreview
) -> Drains | DrainsNotRead:
    return drains_of(found, workloads, node_notes(found, cluster.live))


class _PodReader:
    """One look at the pods and budgets of one cluster."""

    def __init__(self, api: ClusterApi, clock: Clock, cluster: str, found: Drained) -> None:
        self._api = api
        self._clock = clock
        self._cluster = cluster
        self._nodes = found.nodes
        self._until = clock.now() + LONGEST

    def read(self, total: int) -> Workloads | Unknown:
        """`total`: nodes of the cluster."""
        few = len(self._nodes) <= FEW_NODES and len(self._nodes) * FEW_OF <= total
        for _ in range(_RESTARTS):
            try:
                return self._by_node() if few else self._all()
            except GoneError:
                continue  # the list is too old to be gone on with
            except ForbiddenError as error:
                told = f"{error.message}; that right is granted apart: docs/security.md, what a preview reads"
                return Unknown(told, self._clock.now())
            except GitopsMcError as error:
                return Unknown(error.message, self._clock.now())
        told = f"the list of pods of {self._cluster} expired {_RESTARTS} times before its end"
        return Unknown(told, self._clock.now())

    def _all(self) -> Workloads:
        budgets = budgets_of(self._api.list(self._cluster, RESOURCES["PodDisruptionBudget"]))
        pods, replicas = survey(self._pods(), frozenset(self._nodes), budgets)
        return Workloads(self._clock.now(), pods, replicas, budgets)

    def _by_node(self) -> Workloads:
        budgets = budgets_of(self._api.list(self._cluster, RESOURCES["PodDisruptionBudget"]))
        nodes = frozenset(self._nodes)
        there = chain.from_iterable(self._pods(fields=f"spec.nodeName={node}") for node in self._nodes)
        pods, _ = survey(there, nodes, budgets)
        spaces = sorted({pod.namespace for pod in pods if pod.counted})
        if len(spaces) > FEW_NAMESPACES:
            spaces = [""]
        everywhere = chain.from_iterable(self._pods(namespace=space) for space in spaces)
        _, replicas = survey(everywhere, frozenset(), {})
        return Workloads(self._clock.now(), pods, replicas, budgets)

    def _pods(self, *, namespace: str = "", fields: str = "") -> Iterator[JsonObject]:
        selector = ",".join(part for part in (fields, _UNFINISHED) if part)
        for pod in self._api.each(self._cluster, RESOURCES["Pod"], namespace=namespace, fields=selector):
            if self._clock.now() > self._until:
                told = f"the pods of {self._cluster} took longer than {LONGEST.total_seconds():.0f} seconds"
                raise UnreachableError(told)
            yield pod
