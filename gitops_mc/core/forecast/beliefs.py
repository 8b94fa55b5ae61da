"""What the median node of a cluster is believed to take: from settings, and from what earlier rollouts took.

Times are log-normal: nodes of one rollout differ (NODE_SPREAD), so do rollouts of a cluster from day to day, clusters of
a fleet, and fleets from what fleet.yaml says of them. Each of these is a normal distribution of the logarithm, so that
what was seen and what was assumed join by their precisions (docs/adr/0020).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gitops_mc.core.disruption import QUIET_NODE
from gitops_mc.core.forecast.drawing import quantile_of_normal
from gitops_mc.core.forecast.makespans import NODE_SPREAD, Makespan, Size
from gitops_mc.core.forecast.model import Basis, RestsOn
from gitops_mc.core.model import count
from gitops_mc.core.policy import Gates, PoolGatePolicy
from gitops_mc.core.rollout.paces import Pace, Work
from gitops_mc.core.rollout.windows import told_span

RENDER_SECONDS: Final = 6.0
"""From a write to the first node that moves: the operator waits about 5 seconds for more, then renders (domain of ACP docs)."""

FLEET_SPREAD: Final = 0.35
"""Of fleets whose perNode is the same."""
CLUSTER_SPREAD: Final = 0.15
"""Of the clusters of one fleet."""
DAY_SPREAD: Final = 0.10
"""Of the rollouts of one cluster."""
WITHIN: Final = 0.90
"""perNode is what people expect a node to stay within: this share of nodes does."""
_DRAIN_MEDIAN: Final = 0.5
"""A node that is drained and does not reboot takes about half as long as one that does; nobody says how long."""
_DRAIN_SPREAD: Final = 0.55

_NAMES: Final = {
    Work.REBOOT: "nodes that reboot",
    Work.DRAIN: "nodes that are drained",
    Work.QUIET: "nodes that neither reboot nor drain",
    Work.MODULE: "modules",
}


@dataclass(frozen=True, slots=True)
class Belief:
    """The logarithm of the median node's seconds in one cluster: `mean`, plus `shared` times what is drawn for the fleet,
    plus `own` times what is drawn for the cluster, both standard normal.
    """

    mean: float
    shared: float
    own: float
    rests_on: RestsOn


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one cluster's rollouts say of its median node: the logarithm, and how precisely."""

    mean: float
    precision: float


@dataclass(frozen=True, slots=True)
class _Prior:
    mean: float
    spread: float
    basis: Basis
    told: str


def sizes_of(paces: Iterable[Pace]) -> set[Size]:
    """Sizes whose makespans `beliefs` has to know."""
    return {(p.nodes, p.at_once) for p in paces if _counts(p)}


def beliefs(
    work: Work, history: Mapping[str, Sequence[Pace]], gates: Gates, spans: Mapping[Size, Makespan]
) -> tuple[Mapping[str, Belief], Belief]:
    """Of each cluster with a history, and of every other one."""
    prior = _prior(work, gates)
    seen = {
        name: s for name, paces in sorted(history.items()) if (s := _seen(work, paces, spans)) is not None
    }
    steps = sum(1 for paces in history.values() for p in paces if p.work is work and _counts(p))
    between = CLUSTER_SPREAD**2
    precision = 1 / prior.spread**2 + sum(1 / (between + 1 / s.precision) for s in seen.values())
    mean = prior.mean / prior.spread**2 + sum(s.mean / (between + 1 / s.precision) for s in seen.values())
    mean, shared = mean / precision, math.sqrt(1 / precision)
    rests_on = _rests_on(work, prior, steps)
    others = Belief(mean, shared, math.hypot(CLUSTER_SPREAD, DAY_SPREAD), rests_on)
    own = {}
    for name, s in seen.items():
        left = 1 / between + s.precision
        known = s.precision / left
        own[name] = Belief(
            mean=known * s.mean + (1 - known) * mean,
            shared=(1 - known) * shared,
            own=math.sqrt(1 / left + DAY_SPREAD**2),
            rests_on=rests_on,
        )
    return own, others


def _seen(work: Work, paces: Sequence[Pace], spans: Mapping[Size, Makespan]) -> _Seen | None:
    mean = precision = 0.0
    for pace in paces:
        if pace.work is not work or not _counts(pace):
            continue
        span = spans[pace.nodes, pace.at_once]
        weight = 1 / (span.log_variance + DAY_SPREAD**2)
        mean += weight * (math.log(max(1.0, pace.took - RENDER_SECONDS)) - span.log_mean)
        precision += weight
    return _Seen(mean / precision, precision) if precision else None


def _counts(pace: Pace) -> bool:
    return pace.nodes > 0 and pace.at_once > 0 and pace.work is not Work.MODULE


def _prior(work: Work, gates: Gates) -> _Prior:
    per_node = gates.pool.per_node
    given = Basis.DEFAULT if per_node == PoolGatePolicy().per_node else Basis.SETTINGS
    told = f"gates.pool.perNode ({told_span(per_node)}{', the default' if given is Basis.DEFAULT else ''})"
    whole = math.sqrt(FLEET_SPREAD**2 + CLUSTER_SPREAD**2 + DAY_SPREAD**2 + NODE_SPREAD**2)
    below = quantile_of_normal(WITHIN) * whole
    reboot = math.log(max(1.0, per_node.total_seconds())) - below
    match work:
        case Work.DRAIN:
            return _Prior(reboot + math.log(_DRAIN_MEDIAN), _DRAIN_SPREAD, given, told)
        case Work.QUIET:
            most = min(per_node, QUIET_NODE)
            mean = math.log(max(1.0, most.total_seconds())) - below
            return _Prior(mean, _DRAIN_SPREAD, Basis.KNOWN, f"within {told_span(most)} each")
        case _:
            return _Prior(reboot, FLEET_SPREAD, given, told)


def _rests_on(work: Work, prior: _Prior, steps: int) -> RestsOn:
    if steps:
        told = f"{_NAMES[work]}: {count(steps, 'earlier step')} of this fleet"
        return RestsOn(work, Basis.HISTORY, steps, told)
    return RestsOn(work, prior.basis, 0, f"{_NAMES[work]}: {prior.told}")
