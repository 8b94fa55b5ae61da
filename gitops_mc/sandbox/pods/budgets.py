"""The actor that counts for PodDisruptionBudgets, as the cluster's own controller does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gitops_mc.core.model import JsonObject, labels_of, matches_selector, metadata, name_of
from gitops_mc.sandbox.client import ApiClient, Touch
from gitops_mc.sandbox.faults import FOREVER
from gitops_mc.sandbox.pods.eviction import is_ready

_FINISHED = ("Succeeded", "Failed")


class BudgetController:
    """Writes the status of every budget of a cluster when a pod or a budget was touched. Until then it does nothing."""

    interests = frozenset({("pods", "*"), ("poddisruptionbudgets", "*")})

    def __init__(self, cluster: str, client: ApiClient) -> None:
        self.name = f"{cluster}/budgets"
        self._client = client
        self._touched = False

    def notice(self, touch: Touch) -> None:  # noqa: ARG002 - the actor's signature
        self._touched = True

    def step(self, now: datetime) -> datetime:  # noqa: ARG002 - as above
        if self._touched:
            self._touched = False
            budgets = self._client.list_all("poddisruptionbudgets")
            pods = self._client.list_all("pods") if budgets else []
            for budget in budgets:
                self._count(budget, pods)
        return FOREVER

    def _count(self, budget: JsonObject, pods: Sequence[JsonObject]) -> None:
        status = counted(budget, pods)
        if {key: (budget.get("status") or {}).get(key) for key in status} != status:
            namespace = str(metadata(budget)["namespace"])
            self._client.merge_status("poddisruptionbudgets", name_of(budget), status, namespace)


def counted(budget: JsonObject, pods: Sequence[JsonObject]) -> JsonObject:
    """What the status says. Pods that are there count as expected: who makes them anew does so at once."""
    meta, spec = metadata(budget), budget.get("spec") or {}
    mine = [
        pod
        for pod in pods
        if metadata(pod).get("namespace") == meta["namespace"]
        and matches_selector(spec.get("selector"), labels_of(pod))
        and (pod.get("status") or {}).get("phase") not in _FINISHED
    ]
    expected, healthy = len(mine), sum(map(is_ready, mine))
    needed = _needed(spec, expected)
    return {
        "observedGeneration": meta.get("generation", 0),
        "expectedPods": expected,
        "currentHealthy": healthy,
        "desiredHealthy": needed,
        "disruptionsAllowed": max(0, healthy - needed) if expected else 0,
    }


def _needed(spec: JsonObject, expected: int) -> int:
    if (most := spec.get("maxUnavailable")) is not None:
        return max(0, expected - _rounded_up(most, expected))
    return _rounded_up(spec.get("minAvailable", 1), expected)


def _rounded_up(asked: int | str, expected: int) -> int:
    if isinstance(asked, str) and asked.endswith("%"):
        return -(-expected * int(asked[:-1]) // 100)
    return int(asked)
