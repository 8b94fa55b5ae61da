"""Which PodDisruptionBudget keeps a pod from being evicted, by the rules of Kubernetes' eviction API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gitops_mc.core.model import count as counted
from gitops_mc.core.preview.workloads import Budget, Pod


@dataclass(frozen=True, slots=True)
class Bar:
    """Why an eviction is refused."""

    subject: str
    told: str
    forever: bool
    """Whether it stays so while all pods are well: waiting brings nothing."""


def barred(pod: Pod, budgets: Sequence[Budget]) -> Bar | None:
    """Why the API refuses to evict this pod as things stand, given all budgets that select it; None where it does not.

    A pod that has not started goes in any case; one that is not ready goes where its budget says so, or has enough without it.
    """
    if not pod.started or not budgets:
        return None
    if len(budgets) > 1:
        return Bar(
            ", ".join(str(b) for b in budgets),
            "they select the same pods, and the API refuses to evict a pod with more than one budget; "
            "take one of them away, or narrow its selector",
            forever=True,
        )
    budget = budgets[0]
    enough = 0 < budget.needed <= budget.healthy
    if not pod.ready and (budget.evicts_unhealthy or enough):
        return None
    if budget.lag:
        told = f"{budget.lag}: evictions are refused until its controller has caught up; {_look(budget)}"
        return Bar(str(budget), told, forever=False)
    if budget.allowed > 0:
        return None
    if budget.never:
        told = (
            f"it never allows a disruption ({_numbers(budget)}): the drain waits, and the node is Degraded after "
            "about an hour; loosen it or run more replicas before this is merged"
        )
        return Bar(str(budget), told, forever=True)
    told = f"it allows no disruption now ({_numbers(budget)}): the drain waits until it does; {_look(budget)}"
    return Bar(str(budget), told, forever=False)


def _numbers(budget: Budget) -> str:
    asks = f"{budget.asks}; " if budget.asks else ""
    return f"{asks}{budget.healthy} of {counted(budget.expected, 'pod')} healthy, {budget.needed} needed"


def _look(budget: Budget) -> str:
    return f"kubectl -n {budget.namespace} describe poddisruptionbudget {budget.name}"
