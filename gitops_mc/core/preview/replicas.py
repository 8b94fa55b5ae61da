"""What becomes of workloads while nodes are away: those of which nothing is left, and those that vote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from gitops_mc.core.preview.hindrances import Hindrance, HindranceKind
from gitops_mc.core.preview.node_notes import Drained
from gitops_mc.core.preview.weighing import Weighed, Weight
from gitops_mc.core.preview.workloads import STATEFUL_SET, Owner, Pod, Replicas, is_etcd

_VOTING: Final = (3, 5, 7)
"""Sizes of a StatefulSet that are chosen so that one half is never as large as the other."""


@dataclass(slots=True)
class _Here:
    """Pods of one owner on the drained nodes."""

    all: Counter[str] = field(default_factory=Counter)
    ready: Counter[str] = field(default_factory=Counter)


def at_risk(
    pods: Iterable[Pod], replicas: Mapping[Owner, Replicas], drained: Drained, told: frozenset[Owner | None]
) -> Iterator[Weighed]:
    """Of every owner with pods on the drained nodes what is lost with them; `told`: owners of which something worse is told."""
    for owner, here in _by_owner(pods).items():
        everywhere = replicas.get(owner, Replicas(here.all.total(), here.ready.total()))
        if _votes(owner, everywhere.live):
            yield from _voters(owner, here, everywhere, drained)
        elif owner not in told:
            yield from _alone(owner, here, everywhere)


def _by_owner(pods: Iterable[Pod]) -> Mapping[Owner, _Here]:
    found: dict[Owner, _Here] = {}
    for pod in pods:
        if pod.owner is not None and pod.counted:
            here = found.setdefault(pod.owner, _Here())
            here.all[pod.node] += 1
            here.ready[pod.node] += pod.ready
    return found


def _votes(owner: Owner, live: int) -> bool:
    return (is_etcd(owner) and live > 1) or (owner.kind == STATEFUL_SET and live in _VOTING)


# ---------------------------------------------------------------------------------------------------- nothing is left


def _alone(owner: Owner, here: _Here, everywhere: Replicas) -> Iterator[Weighed]:
    """Nothing is lost where nothing is ready."""
    for node, number in here.all.items():
        ready = here.ready[node]
        if not ready or ready < everywhere.ready:
            continue
        if is_etcd(owner):
            told = "the only member of etcd: while it is away the cluster's API answers nobody"
        elif everywhere.live == 1:
            told = (
                f"the only replica of {owner.kind} {owner.name}: it is away until it is ready on another node"
            )
        elif number == everywhere.live:
            told = f"all {number} replicas of {owner.kind} {owner.name} are there: they go at the same time"
        else:
            told = f"of {everywhere.live} replicas of {owner.kind} {owner.name} only {ready} here can be used"
        hint = "" if is_etcd(owner) else "; run more of it, or tell those who use it"
        yield Weighed(Weight.ALONE, Hindrance(node, HindranceKind.SINGLE, str(owner), told + hint))


# ------------------------------------------------------------------------------------------------------- those that vote


def _voters(owner: Owner, here: _Here, everywhere: Replicas, drained: Drained) -> Iterator[Weighed]:
    majority = everywhere.live // 2 + 1
    together = _away_at_once(here, drained)
    for node in here.all:
        left = max(0, everywhere.ready - here.ready[node])
        least = max(0, everywhere.ready - together)
        what = f"{_members(owner, here.all[node], everywhere)}, {everywhere.ready} ready"
        if left < majority:
            weight = Weight.QUORUM_LOST
            told = f"{what}: without this node {_are(left)} left, and a majority is {majority}; see that all are ready first"
        elif least < majority:
            weight = Weight.QUORUM_LOST
            told = (
                f"{what}: as many nodes go at once that {least} may be left, and a majority is {majority}; "
                "lower maxUnavailable, or give it a PodDisruptionBudget"
            )
        else:
            weight = Weight.VOTER
            told = f"{what}: while this node is away {_are(left)} left, and a majority is {majority}"
        yield Weighed(weight, Hindrance(node, HindranceKind.QUORUM, str(owner), told))


def _are(number: int) -> str:
    return f"{number} is" if number == 1 else f"{number} are"


def _members(owner: Owner, number: int, everywhere: Replicas) -> str:
    if is_etcd(owner):
        return f"{number} of {everywhere.live} members of etcd"
    return f"{number} of {everywhere.live} replicas of {owner.kind} {owner.name}"


def _away_at_once(here: _Here, drained: Drained) -> int:
    """Ready replicas that may be away at the same time: pools roll side by side, each with as many nodes as it may."""
    total = 0
    for pool in drained.pools:
        most = sorted((here.ready[node] for node in pool.nodes), reverse=True)
        total += sum(most[: pool.at_once])
    return total
