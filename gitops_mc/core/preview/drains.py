"""What is in the way of draining the nodes that a change drains, and what deserves a second look before they are.

A drain is judged as kubectl does it: pods of DaemonSets and static pods stay, finished pods are in nobody's way. How the
platform's own daemon drains is not documented; its public relative evicts pods that nobody makes anew and throws away what is in
an emptyDir. So such pods are told of, and never said to hold anything up. What the eviction API refuses is Kubernetes' own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from gitops_mc.core.model import Unknown, named
from gitops_mc.core.model import count as counted
from gitops_mc.core.preview.budgets import Bar, barred
from gitops_mc.core.preview.hindrances import Drains, DrainsNotRead, Hindrance, HindranceKind, NodeNote
from gitops_mc.core.preview.node_notes import Drained
from gitops_mc.core.preview.replicas import at_risk
from gitops_mc.core.preview.weighing import Weighed, Weight, told
from gitops_mc.core.preview.workloads import Pod, Workloads

_NAMES: Final = 5
"""Pods named of one node."""


def drains_of(
    drained: Drained, workloads: Workloads | Unknown, notes: tuple[NodeNote, ...]
) -> Drains | DrainsNotRead:
    """What was found on the nodes that are drained. What was not read is not known, which is never that nothing is in the way."""
    if isinstance(workloads, Unknown):
        return DrainsNotRead(workloads.reason, workloads.since, notes)
    if drained.nameless:
        reason = f"of {counted(drained.nameless, 'node')} that are drained only the number is known"
        return DrainsNotRead(reason, workloads.at, notes)
    nodes = frozenset(drained.nodes)
    pods = [pod for pod in workloads.pods if pod.node in nodes]
    bars = _bars(pods, workloads)
    held = frozenset(pod.owner for pod in bars)
    found = (
        *_budgets(bars),
        *at_risk(pods, workloads.replicas, drained, held),
        *_bare(pods),
        *_local(pods),
    )
    shown, left_out = told(found, drained.nodes)
    return Drains(workloads.at, shown, notes, left_out)


def _bars(pods: Iterable[Pod], workloads: Workloads) -> Mapping[Pod, Bar]:
    found = {}
    for pod in pods:
        budgets = [workloads.budgets[pod.namespace, name] for name in pod.budgets]
        bar = barred(pod, budgets) if pod.drained else None
        if bar is not None:
            found[pod] = bar
    return found


def _budgets(bars: Mapping[Pod, Bar]) -> Iterator[Weighed]:
    """One for each node and budget, with the pods of it that stand there."""
    together: dict[tuple[str, Bar], list[Pod]] = {}
    for pod, bar in bars.items():
        together.setdefault((pod.node, bar), []).append(pod)
    for (node, bar), pods in together.items():
        weight = Weight.NEVER_DRAINED if bar.forever else Weight.BUDGET_USED_UP
        text = f"{bar.told}; it holds {_named(pods)}"
        yield Weighed(weight, Hindrance(node, HindranceKind.BUDGET, bar.subject, text))


def _bare(pods: Iterable[Pod]) -> Iterator[Weighed]:
    for pod in pods:
        if pod.owner is None:
            text = "nothing makes this pod anew: it is gone after the drain; whoever made it has to make it again"
            yield Weighed(Weight.BARE, Hindrance(pod.node, HindranceKind.BARE, str(pod), text))


def _local(pods: Iterable[Pod]) -> Iterator[Weighed]:
    """One for each node: emptyDirs are common, and few of them matter."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        if pod.local and pod.drained:
            found.setdefault(pod.node, []).append(pod)
    for node, there in found.items():
        text = f"an emptyDir, which a drain throws away, is in {_named(there)}"
        yield Weighed(Weight.LOCAL, Hindrance(node, HindranceKind.LOCAL, str(there[0]), text))


def _named(pods: Sequence[Pod]) -> str:
    names = [str(pod) for pod in pods]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return named("pod", names[:_NAMES]) + more
