"""Pods, budgets and drained nodes in few words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitops_mc.core.model import JsonObject
from gitops_mc.core.preview.drains import drains_of
from gitops_mc.core.preview.hindrances import Drains, Hindrance
from gitops_mc.core.preview.node_notes import Drained, PoolDrain
from gitops_mc.core.preview.workloads import Workloads, budgets_of, survey
from tests.core.gate_worlds import NOW

HASH = "6d4cf56db6"


def pod(
    name: str,
    node: str = "n1",
    *,
    namespace: str = "shop",
    owner: tuple[str, str] | None = ("Deployment", "web"),
    labels: Mapping[str, str] | None = None,
    phase: str = "Running",
    ready: bool = True,
    annotations: Mapping[str, str] | None = None,
    volumes: Iterable[JsonObject] = (),
    **metadata: Any,
) -> JsonObject:
    """A pod; of a Deployment it is owned by a ReplicaSet, as everywhere."""
    marks, refs = dict(labels or {"app": name.rstrip("0123456789").rstrip("-")}), []
    if owner is not None:
        kind, called = owner
        if kind == "Deployment":
            kind, called = "ReplicaSet", f"{called}-{HASH}"
            marks["pod-template-hash"] = HASH
        refs = [{"apiVersion": "apps/v1", "kind": kind, "name": called, "uid": called, "controller": True}]
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": marks,
            "annotations": dict(annotations or {}),
            "ownerReferences": refs,
            **metadata,
        },
        "spec": {
            "nodeName": node,
            "automountServiceAccountToken": False,
            "containers": [{"name": "a", "image": "registry.example/a:1"}],
            "volumes": list(volumes),
        },
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def static(name: str, node: str, **more: Any) -> JsonObject:
    """The API's picture of a static pod, as kubeadm names and labels it."""
    marks = {"kubernetes.io/config.mirror": "0f1e"}
    labels = {"component": name, "tier": "control-plane"}
    return pod(
        f"{name}-{node}",
        node,
        namespace="kube-system",
        owner=("Node", node),
        labels=labels,
        annotations=marks,
        **more,
    )


EMPTY_DIR: JsonObject = {"name": "data", "emptyDir": {}}


def budget(
    name: str = "web",
    *,
    allowed: int = 0,
    healthy: int = 2,
    needed: int = 2,
    expected: int = 3,
    namespace: str = "shop",
    selector: JsonObject | None = None,
    generation: int = 1,
    observed: int | None = 1,
    **spec: Any,
) -> JsonObject:
    """By default one that covers `app: <name>`, of whose three pods two are healthy, and two are needed."""
    asks = spec or {"minAvailable": needed}
    return {
        "metadata": {"name": name, "namespace": namespace, "generation": generation},
        "spec": {"selector": {"matchLabels": {"app": name}} if selector is None else selector, **asks},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": needed,
            "expectedPods": expected,
            **({} if observed is None else {"observedGeneration": observed}),
        },
    }


def nodes_drained(*nodes: str, at_once: int = 1, pool: str = "worker") -> Drained:
    return Drained((PoolDrain(pool, nodes or ("n1",), at_once, frozenset()),))


def workloads(drained: Drained, pods: Iterable[JsonObject], budgets: Iterable[JsonObject] = ()) -> Workloads:
    read = budgets_of(budgets)
    found, replicas = survey(pods, frozenset(drained.nodes), read)
    return Workloads(NOW, found, replicas, read)


def drains(
    pods: Iterable[JsonObject], budgets: Iterable[JsonObject] = (), drained: Drained | None = None
) -> Drains:
    drained = drained or nodes_drained()
    found = drains_of(drained, workloads(drained, pods, budgets), ())
    assert isinstance(found, Drains)
    return found


def hindrances(*args: Any, **more: Any) -> tuple[Hindrance, ...]:
    return drains(*args, **more).hindrances
