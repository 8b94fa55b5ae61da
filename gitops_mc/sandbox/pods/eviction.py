"""Emptying a node as a drain does: pods are evicted one by one, where their budget lets them go.

By the rules of Kubernetes' eviction API, which the sandbox does not serve: here who drains goes by them.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitops_mc.core.model import JsonObject, annotations_of, labels_of, matches_selector, metadata, name_of
from gitops_mc.sandbox.client import ApiClient

_MIRROR = "kubernetes.io/config.mirror"


def evict_all(client: ApiClient, node: str) -> str:
    """Evict what may go from a node. Why the first pod that stays does so; empty when nothing is left that a drain takes."""
    pods = [p for p in client.list_all("pods", fields=f"spec.nodeName={node}") if _is_drained(p)]
    if not pods:
        return ""
    refusals = []
    for pod in sorted(pods, key=lambda p: (_namespace(p), name_of(p))):
        # asked for each pod anew: the one before may have used the budget up
        budgets = [b for b in client.list_all("poddisruptionbudgets") if _covers(b, pod)]
        if refusal := _refusal(pod, budgets):
            refusals.append(f"cannot evict pod {_namespace(pod)}/{name_of(pod)}: {refusal}")
            continue
        client.delete("pods", name_of(pod), _namespace(pod))
        for budget in budgets if is_ready(pod) else ():
            _use_up(client, budget)
    return refusals[0] if refusals else ""


def _is_drained(pod: JsonObject) -> bool:
    owners = metadata(pod).get("ownerReferences") or ()
    return _MIRROR not in annotations_of(pod) and not any(o.get("kind") == "DaemonSet" for o in owners)


def _covers(budget: JsonObject, pod: JsonObject) -> bool:
    selector = (budget.get("spec") or {}).get("selector")
    return _namespace(budget) == _namespace(pod) and matches_selector(selector, labels_of(pod))


def _refusal(pod: JsonObject, budgets: Sequence[JsonObject]) -> str:
    phase = (pod.get("status") or {}).get("phase", "Pending")
    if phase != "Running" or not budgets:
        return ""
    if len(budgets) > 1:
        return "more than one disruption budget covers it"
    [budget] = budgets
    spec, status = budget.get("spec") or {}, budget.get("status") or {}
    if not is_ready(pod):
        healthy, needed = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        if spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow" or 0 < needed <= healthy:
            return ""
    if status.get("observedGeneration", 0) < metadata(budget).get("generation", 0):
        return f"disruption budget {name_of(budget)} is still being processed"
    if status.get("disruptionsAllowed", 0) < 1:
        return f"disruption budget {name_of(budget)} violated"
    return ""


def is_ready(pod: JsonObject) -> bool:
    found = (pod.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in found)


def _use_up(client: ApiClient, budget: JsonObject) -> None:
    """One eviction less is allowed until somebody has counted again."""
    left = max(0, (budget.get("status") or {}).get("disruptionsAllowed", 0) - 1)
    client.merge_status(
        "poddisruptionbudgets", name_of(budget), {"disruptionsAllowed": left}, _namespace(budget)
    )


def _namespace(body: JsonObject) -> str:
    return str(metadata(body).get("namespace", ""))
