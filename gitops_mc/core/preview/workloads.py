"""What a drain meets on nodes, as small values: pods, what they are replicas of, and the budgets over them.

Pods are many and large (tens of thousands, several KiB each), so that each is read once and only what is asked of it is kept.
Environment, images and commands of a pod are never kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from gitops_mc.core.model import JsonObject, being_deleted, matches_selector, name_of
from gitops_mc.core.raw import count, items, section, text

_MIRROR: Final = "kubernetes.io/config.mirror"
"""On the API's picture of a static pod, which the kubelet runs from a file of the node (Kubernetes docs, static pods)."""
_TEMPLATE_HASH: Final = "pod-template-hash"
_FINISHED: Final = ("Succeeded", "Failed")
ETCD: Final = "etcd"
STATIC: Final = "static pod"
STATEFUL_SET: Final = "StatefulSet"
UNTOUCHED: Final = frozenset({"DaemonSet"})
"""Owners of pods that a drain leaves where they are."""
BATCH: Final = frozenset({"Job"})
"""Owners whose pods are not replicas of anything: each is one run of some work."""


@dataclass(frozen=True, slots=True)
class Owner:
    """What makes a pod anew; of a ReplicaSet of a Deployment the Deployment, so that a rollout of it counts once."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Replicas:
    """Pods of one owner in the whole cluster, those that are finished or being deleted left out."""

    live: int = 0
    ready: int = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget, and what its controller says of it."""

    namespace: str
    name: str
    selector: JsonObject | None
    asks: str
    """`minAvailable 2`, as it is written; empty where it asks for nothing."""
    allowed: int
    """Disruptions that are allowed now."""
    healthy: int
    needed: int
    expected: int
    """Pods that it counts."""
    never: bool
    """Whether it allows none even with every pod healthy."""
    lag: str
    """Why its status may be old; while it is, every eviction is refused. Empty: it is not."""
    evicts_unhealthy: bool
    """Whether a pod that is not ready may go in any case (unhealthyPodEvictionPolicy AlwaysAllow)."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod that is neither finished nor being deleted, without what a drain does not ask."""

    namespace: str
    name: str
    node: str
    owner: Owner | None
    """None: nobody makes it anew."""
    started: bool
    """Whether it has left phase Pending; one that has not is evicted whatever its budget says."""
    ready: bool
    local: bool
    """Whether it keeps data in an emptyDir on the node's disk."""
    budgets: tuple[str, ...] = ()
    """Names of the budgets, of its namespace, that select it."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def drained(self) -> bool:
        """Whether a drain has to do with it: not with static pods, and not with those of DaemonSets (as kubectl drains)."""
        return self.owner is None or (self.owner.kind != STATIC and self.owner.kind not in UNTOUCHED)

    @property
    def voting_member(self) -> bool:
        """Of etcd as a static pod: a drain leaves it, and a reboot takes it away."""
        return self.owner is not None and is_etcd(self.owner)

    @property
    def counted(self) -> bool:
        """Whether it matters how many replicas of it there are: not where each pod is one run of some work."""
        return (
            self.owner is not None and self.owner.kind not in BATCH and (self.drained or self.voting_member)
        )


def is_etcd(owner: Owner) -> bool:
    return owner.kind == STATIC and owner.name == ETCD


Budgets = Mapping[tuple[str, str], Budget]
"""By namespace and name."""


@dataclass(frozen=True, slots=True)
class Workloads:
    """What stands on nodes that are drained, and how many replicas there are of it elsewhere."""

    at: datetime
    pods: tuple[Pod, ...]
    """Of those nodes, by namespace and name."""
    replicas: Mapping[Owner, Replicas]
    """Of the owners of these pods, counted in the whole cluster."""
    budgets: Budgets


def survey(
    found: Iterable[JsonObject], nodes: frozenset[str], budgets: Budgets
) -> tuple[tuple[Pod, ...], Mapping[Owner, Replicas]]:
    """The pods that stand on `nodes`, and how many replicas there are of every owner that occurs. `found` is gone through once,
    and may be as long as it likes.
    """
    by_namespace: dict[str, list[Budget]] = {}
    for (namespace, _), budget in sorted(budgets.items()):
        by_namespace.setdefault(namespace, []).append(budget)
    kept: list[Pod] = []
    counted: dict[Owner, tuple[int, int]] = {}
    for body in found:
        pod = read_pod(body, nodes, by_namespace)
        if pod is None:
            continue
        if pod.owner is not None:
            live, ready = counted.get(pod.owner, (0, 0))
            counted[pod.owner] = (live + 1, ready + pod.ready)
        if pod.node in nodes:
            kept.append(pod)
    replicas = {owner: Replicas(*numbers) for owner, numbers in counted.items()}
    return tuple(sorted(kept, key=lambda p: (p.namespace, p.name))), MappingProxyType(replicas)


def read_pod(body: JsonObject, nodes: frozenset[str], budgets: Mapping[str, Sequence[Budget]]) -> Pod | None:
    """What counts of a pod, None of one that is finished or on its way out. Budgets are looked up for pods on `nodes` only."""
    phase = text(section(body, "status"), "phase")
    if phase in _FINISHED or being_deleted(body):
        return None
    namespace, node = text(section(body, "metadata"), "namespace"), text(section(body, "spec"), "nodeName")
    return Pod(
        namespace=namespace,
        name=name_of(body),
        node=node,
        owner=_owner(body, namespace),
        started=phase not in ("Pending", ""),
        ready=_ready(body),
        local=any(_on_disk(volume) for volume in items(body, "spec", "volumes")),
        budgets=_over(body, budgets.get(namespace, ())) if node in nodes else (),
    )


def _ready(body: JsonObject) -> bool:
    """Without remembering what was read, for the body is not kept."""
    found = (c for c in items(body, "status", "conditions") if c.get("type") == "Ready")
    return any(c.get("status") == "True" for c in found)


def read_budget(body: JsonObject) -> Budget:
    spec, status = section(body, "spec"), section(body, "status")
    asks = [
        (field, spec[field]) for field in ("minAvailable", "maxUnavailable") if spec.get(field) is not None
    ]
    expected, needed = count(status, "expectedPods") or 0, count(status, "desiredHealthy") or 0
    told = _lag(body)
    zero = any(field == "maxUnavailable" and value in (0, "0", "0%") for field, value in asks)
    return Budget(
        namespace=text(section(body, "metadata"), "namespace"),
        name=name_of(body),
        selector=_selector(spec),
        asks=", ".join(f"{field} {value}" for field, value in asks),
        allowed=count(status, "disruptionsAllowed") or 0,
        healthy=count(status, "currentHealthy") or 0,
        needed=needed,
        expected=expected,
        never=zero or (not told and 0 < expected <= needed),
        lag=told,
        evicts_unhealthy=text(spec, "unhealthyPodEvictionPolicy") == "AlwaysAllow",
    )


def _lag(body: JsonObject) -> str:
    """An eviction is refused while the status speaks of an older spec (Kubernetes, eviction subresource)."""
    generation = count(section(body, "metadata"), "generation") or 0
    observed = count(section(body, "status"), "observedGeneration") or 0
    if observed < generation:
        return f"its status is of generation {observed}, its spec of {generation}"
    return ""


def budgets_of(found: Iterable[JsonObject]) -> Budgets:
    return MappingProxyType({(b.namespace, b.name): b for b in map(read_budget, found)})


def _selector(spec: JsonObject) -> JsonObject | None:
    """None selects nothing, an empty one every pod of the namespace (policy/v1)."""
    if not isinstance(spec.get("selector"), dict):
        return None
    return {
        "matchLabels": section(spec, "selector", "matchLabels"),
        "matchExpressions": list(items(spec, "selector", "matchExpressions")),
    }


def _over(body: JsonObject, budgets: Iterable[Budget]) -> tuple[str, ...]:
    labels = section(body, "metadata", "labels")
    return tuple(b.name for b in budgets if matches_selector(b.selector, labels))


def _owner(body: JsonObject, namespace: str) -> Owner | None:
    labels = section(body, "metadata", "labels")
    name = name_of(body)
    if _MIRROR in section(body, "metadata", "annotations"):
        etcd = labels.get("component") == ETCD or name.startswith(f"{ETCD}-")
        return Owner(STATIC, namespace, ETCD if etcd else name)
    refs = (r for r in items(body, "metadata", "ownerReferences") if r.get("controller") is True)
    ref = next(refs, None)
    if ref is None:
        return None
    kind, owner, suffix = text(ref, "kind"), text(ref, "name"), labels.get(_TEMPLATE_HASH)
    if kind == "ReplicaSet" and suffix and owner.endswith(f"-{suffix}"):
        return Owner("Deployment", namespace, owner.removesuffix(f"-{suffix}"))
    return Owner(kind, namespace, owner)


def _on_disk(volume: JsonObject) -> bool:
    found = volume.get("emptyDir")
    return isinstance(found, dict) and found.get("medium") != "Memory"
