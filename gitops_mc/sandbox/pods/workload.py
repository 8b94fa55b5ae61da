"""Something that runs on a cluster: so many pods, spread over the nodes, and made anew where one is gone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from gitops_mc.core.model import JsonObject, labels_of, metadata, name_of
from gitops_mc.sandbox.client import ApiClient, Touch
from gitops_mc.sandbox.faults import FOREVER
from gitops_mc.sandbox.operator.pools import is_ready as is_ready_node
from gitops_mc.sandbox.pods.eviction import is_ready

_HASH = "5d4f8c7b96"
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment in a namespace, with a budget or without."""

    name: str
    namespace: str = "apps"
    replicas: int = 2
    min_available: int | str | None = None
    """Of its PodDisruptionBudget; None: it has none."""
    start: timedelta = timedelta(seconds=20)
    """From a pod's making until it is ready."""

    @property
    def labels(self) -> dict[str, str]:
        return {"app": self.name}

    def budget(self) -> JsonObject:
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": {"minAvailable": self.min_available, "selector": {"matchLabels": self.labels}},
        }

    def pod(self, number: int, node: str) -> JsonObject:
        owner = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": f"{self.name}-{_HASH}",
            "uid": f"{self.namespace}-{self.name}",
            "controller": True,
        }
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{self.name}-{_HASH}-{number}",
                "namespace": self.namespace,
                "labels": {**self.labels, "pod-template-hash": _HASH},
                "ownerReferences": [owner],
            },
            "spec": {
                "nodeName": node,
                "containers": [{"name": "app", "image": f"registry.example/{self.name}:1"}],
            },
        }


class WorkloadController:
    """The actor of one workload: its ReplicaSet, the scheduler and the kubelets at once."""

    interests = frozenset({("pods", "*"), ("nodes", "*")})

    def __init__(self, cluster: str, client: ApiClient, workload: Workload) -> None:
        self.name = f"{cluster}/workload/{workload.namespace}/{workload.name}"
        self._client = client
        self._workload = workload
        self._made = 0
        self._ready_at: dict[str, datetime] = {}

    def notice(self, touch: Touch) -> None:
        """A write to pods or nodes: `step` reads both anyway."""

    def step(self, now: datetime) -> datetime:
        pods = self._pods()
        for _ in range(self._workload.replicas - len(pods)):
            node = self._node(pods)
            if node is None:
                break  # a node that comes back wakes it
            pods.append(self._make(node, now))
        return min((self._start(pod, now) for pod in pods), default=FOREVER)

    def _pods(self) -> list[JsonObject]:
        mine = self._workload
        return [
            pod
            for pod in self._client.list_all("pods")
            if metadata(pod).get("namespace") == mine.namespace
            and mine.labels.items() <= labels_of(pod).items()
        ]

    def _node(self, pods: list[JsonObject]) -> str | None:
        """Where the fewest of them stand, by name; nothing is put where the control plane is."""
        taken = Counter(pod["spec"]["nodeName"] for pod in pods)
        able = [
            name_of(node)
            for node in self._client.list_all("nodes")
            if is_ready_node(node)
            and not (node.get("spec") or {}).get("unschedulable")
            and _CONTROL_PLANE not in labels_of(node)
        ]
        return min(able, key=lambda name: (taken[name], name), default=None)

    def _make(self, node: str, now: datetime) -> JsonObject:
        self._made += 1
        pod = self._client.create("pods", self._workload.pod(self._made, node))
        self._ready_at[name_of(pod)] = now + self._workload.start
        return pod

    def _start(self, pod: JsonObject, now: datetime) -> datetime:
        """Make it ready when its time has come; when that is."""
        due = self._ready_at.get(name_of(pod), now)
        if is_ready(pod):
            return FOREVER
        if due > now:
            return due
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        self._client.merge_status("pods", name_of(pod), status, self._workload.namespace)
        return FOREVER
