"""How long a step takes, and whether it fits the cluster's change windows.

Only beginning a step needs a window. The rest of one that is begun, the closing of its bracket, and a pause never do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from gitops_mc.core.diff import Adopt
from gitops_mc.core.disruption import QUIET_NODE
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Content, Unknown, count
from gitops_mc.core.plan import ClusterPlan, PoolImpact, Step, StepKind
from gitops_mc.core.policy import Gates
from gitops_mc.core.pools import machine_count, max_unavailable
from gitops_mc.core.rollout.case import Admission, Case
from gitops_mc.core.rollout.moves import Pause, Standing
from gitops_mc.core.rollout.next_step import Act, Await, Finished, Next
from gitops_mc.core.rollout.windows import Rule, Shut, WindowClosed, WindowOpen, opening, told_span


@dataclass(frozen=True, slots=True)
class Length:
    """How long a step takes at most, as far as that can be known beforehand, and how that is reckoned."""

    span: timedelta | None
    """None: nobody can say."""
    told: str


_AT_ONCE = Length(timedelta(0), "no node is touched")


def length_of(step: Step, plan: ClusterPlan, live: LiveCluster, gates: Gates) -> Length:
    """Pools of a step roll side by side. A module takes up to its time-out, and then the pools that it shakes roll."""
    match step.kind:
        case StepKind.POOLS if not step.writes:
            return _rolled(step.pools, live, gates)
        case StepKind.POOLS:
            return _impact(step, plan, gates)
        case StepKind.MODULE | StepKind.MODULE_REMOVAL:
            return _module(step, live, gates)
        case StepKind.POLICY | StepKind.POLICY_FINAL | StepKind.POOL_REMOVAL:
            return Length(QUIET_NODE, "it moves no node by itself")
        case _:
            assert_never(step.kind)


def _impact(step: Step, plan: ClusterPlan, gates: Gates) -> Length:
    if plan.unforeseen:
        return Length(None, plan.unforeseen)
    found = [i for i in plan.impacts if i.pool in step.pools] if step.pools else list(plan.impacts)
    longest = max(found, key=lambda i: i.estimate, default=None)
    return _AT_ONCE if longest is None else Length(longest.estimate, _told(longest, gates))


def _told(impact: PoolImpact, gates: Gates) -> str:
    nodes = sum(n.count for n in impact.nodes)
    slow = any(n.disruption.drain for n in impact.nodes)
    each = gates.pool.per_node if slow else min(gates.pool.per_node, QUIET_NODE)
    return _rounds(impact.pool, nodes, impact.max_unavailable, each)


def _rounds(pool: str, nodes: int, at_once: int, each: timedelta) -> str:
    return f"pool {pool}: {count(nodes, 'node')}, {at_once} at a time, {told_span(each)} each"


def _rolled(pools: Iterable[str], live: LiveCluster, gates: Gates) -> Length:
    """As if every node of the pools had to be drained."""
    longest = _AT_ONCE
    known = {} if isinstance(live.pools, Unknown) else live.pools.value
    for name in pools:
        nodes = machine_count(known[name]) if name in known else None
        if nodes is None:
            return Length(None, f"how many nodes are in pool {name} is not known")
        at_once, each = max_unavailable(known[name], nodes), gates.pool.per_node
        span = -(-nodes // at_once) * each
        if longest.span is not None and span > longest.span:
            longest = Length(span, _rounds(name, nodes, at_once, each))
    return longest


def _module(step: Step, live: LiveCluster, gates: Gates) -> Length:
    limit = gates.module.timeout
    told = f"module {step.subject}: up to {told_span(limit)} (gates.module.timeout)"
    rolling = _rolled(step.pools, live, gates)
    if rolling.span is None or rolling.span > timedelta(0):
        span = None if rolling.span is None else limit + rolling.span
        return Length(span, f"{told}, then {rolling.told}")
    return Length(limit, told)


# ------------------------------------------------------------------------------------------------------- in windows


def shut(cluster: str, rules: tuple[Rule, ...], length: Length, now: datetime) -> WindowClosed | None:
    """Why a step of that length may not begin in a cluster now; None when it may."""
    found = opening(rules, length.span or timedelta(0), now)
    match found:
        case WindowOpen(until) if length.span is None and until is not None:
            told = f"{length.told}, so nobody can say whether it ends before the window does"
            return WindowClosed(f"{told}; or: {override(cluster)}", Shut.NOT_KNOWN, None)
        case WindowOpen():
            return None
        case WindowClosed(reason, Shut.NEVER):
            out = "lengthen the window, raise maxUnavailable of the pool, or lower gates.pool.perNode if a node takes less"
            return replace(found, reason=f"{reason} ({length.told}): {out}; or: {override(cluster)}")
        case WindowClosed():
            return found
        case _:
            assert_never(found)


def override(cluster: str) -> str:
    """What a human types so that the windows of a cluster do not count."""
    return f"gitops-mc apply --override-window {cluster} --reason TEXT"


def window_for(
    case: Case, content: Content, plan: ClusterPlan | None, following: Next | None
) -> WindowClosed | None:
    """Why what comes next of a content may not begin now; None where it may, or where nothing begins."""
    rules = case.rules(content)
    match following:
        case Act(step=step) if rules and plan is not None and begins_a_step(following):
            return shut(case.name, rules, length_of(step, plan, case.live, case.policy.gates), case.now)
        case _:
            return None


def begins_a_step(act: Act) -> bool:
    """Whether nodes may begin to move by it: a pool that its manifest pauses comes to rest, and a module that is only
    remembered is not written.
    """
    rests = isinstance(act.move, Pause) and not act.step.writes
    return act.begins and not rests and (written(act.step) or not act.step.writes)


def written(step: Step) -> bool:
    """Whether a step has writes that are sent, not only remembered."""
    return any(not isinstance(w, Adopt) or w.sent for w in step.writes)


_STANDINGS = {
    Shut.LATER: Standing.READY,
    Shut.NEVER: Standing.BLOCKED,
    Shut.NOT_KNOWN: Standing.NOT_KNOWN,
}


def in_window(case: Case, could: Admission) -> Admission:
    """An admission that is ready, as its windows leave it. Outside of them a cluster is not admitted to wait for something
    either: it would keep a place all day.
    """
    content = case.newest.content
    rules = case.rules(content)
    match could.next:
        case Await() if rules:
            found = shut(case.name, rules, _AT_ONCE, case.now)
        case Act() | Await() | Finished() | None:
            found = window_for(case, content, could.plan, could.next)
        case _:
            assert_never(could.next)
    if found is None:
        return could
    refused = "refused: " if found.shut is Shut.NEVER else ""
    return replace(could, standing=_STANDINGS[found.shut], reason=f"{refused}{found.reason}", window=found)
