"""What is still to be done in one cluster, leg by leg: the steps of its plan behind their gates, as the engine takes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import assert_never

from gitops_mc.core.disruption import disruption_of
from gitops_mc.core.forecast.beliefs import RENDER_SECONDS
from gitops_mc.core.gates import Unsettled, read_node
from gitops_mc.core.gates.module import HOLD
from gitops_mc.core.ignition import effective_of
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import DesiredCluster, Known, Open, Unknown
from gitops_mc.core.plan import ClusterPlan, PoolImpact, Step, StepKind, World, machine_modules
from gitops_mc.core.plan.impact import policy_after
from gitops_mc.core.policy import Gates
from gitops_mc.core.pools import machine_count, max_unavailable, rendered_name
from gitops_mc.core.rollout.case import Assessment
from gitops_mc.core.rollout.paces import Work
from gitops_mc.core.rollout.pacing import work_of
from gitops_mc.core.rollout.timing import Length, length_of, written


@dataclass(frozen=True, slots=True)
class Rolling:
    """Nodes of a pool that go through the same."""

    work: Work
    nodes: int
    at_once: int
    under_way: bool = False
    """They have begun already, nobody knows how long ago."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A step and what is waited for after it. The pools of a leg roll side by side, what is of one pool one after the other."""

    fixed: float
    """Seconds that are known: rendering, settling, looks but for the one that sees it done."""
    pools: tuple[tuple[Rolling, ...], ...] = ()
    module: str = ""
    under_way: bool = False
    """Of a module: it is being installed already."""
    length: Length | None = None
    """What its change window is asked for; None: it needs none, for it is begun."""


@dataclass(frozen=True, slots=True)
class Course:
    """All of it: `legs` one after the other, `aside` beside them, and `last` when both are through."""

    legs: tuple[Leg, ...] = ()
    aside: tuple[Leg, ...] = ()
    last: tuple[Leg, ...] = ()

    @property
    def all_legs(self) -> tuple[Leg, ...]:
        return (*self.legs, *self.aside, *self.last)


@dataclass(frozen=True, slots=True)
class Looks:
    """How the engine looks: seconds between two looks, and its gates."""

    every: float
    gates: Gates

    @property
    def settled(self) -> float:
        """From the first look that sees it settled until the gate opens, in whole looks; what a look has read decides on the
        next one.
        """
        settle = self.gates.pool.settle.total_seconds()
        return (ceil(settle / self.every) + 1) * self.every

    @property
    def bracket(self) -> float:
        """From the pause to the first node that moves: pause, write and release are a look each. Where the operator has
        rendered meanwhile, the release was decided on what the pool is no more, and is sent again on the next look.
        """
        rendered = self.every + RENDER_SECONDS
        return max((2 if self.every < RENDER_SECONDS else 3) * self.every, rendered)


def course_of(plan: ClusterPlan, desired: DesiredCluster, live: LiveCluster, looks: Looks) -> Course:
    """What a plan comes to."""
    first = machine_modules(desired, live)
    legs, aside, last = [], [], []
    impacts = {i.pool: i for i in plan.impacts}
    for step in plan.steps:
        if not written(step):
            continue
        leg = _leg(step, plan, live, looks, impacts)
        match step.kind:
            case StepKind.MODULE if step.subject not in first:
                aside.append(leg)
            case StepKind.MODULE_REMOVAL:
                last.append(leg)
            case _:
                legs.append(leg)
    return Course(tuple(legs), tuple(aside), tuple(last))


def _leg(
    step: Step, plan: ClusterPlan, live: LiveCluster, looks: Looks, impacts: dict[str, PoolImpact]
) -> Leg:
    length = length_of(step, plan, live, looks.gates)
    match step.kind:
        case StepKind.POOLS:
            released = looks.bracket if step.bracketed else RENDER_SECONDS
            pools = [tuple(_of_impact(impacts.pop(p))) for p in step.pools if p in impacts]
            rolling = tuple(p for p in pools if p)
            return Leg(released + looks.settled, rolling, length=length)
        case StepKind.MODULE | StepKind.MODULE_REMOVAL:
            shaken = tuple(_everything(step, live))
            fixed = HOLD.total_seconds() + (looks.settled if shaken else 0.0)
            module = step.subject if step.kind is StepKind.MODULE else ""
            return Leg(fixed, shaken, module, length=length)
        case StepKind.POLICY | StepKind.POLICY_FINAL:
            settled = looks.settled if step.pools else 0.0
            return Leg(max(RENDER_SECONDS, settled), length=length)
        case StepKind.POOL_REMOVAL:
            return Leg(0.0, length=length)
        case _:
            assert_never(step.kind)


def _of_impact(impact: PoolImpact) -> Iterator[Rolling]:
    counted: dict[Work, int] = {}
    for nodes in impact.nodes:
        work = work_of(nodes.disruption)
        counted[work] = counted.get(work, 0) + nodes.count
    for work, nodes_of_it in counted.items():
        if nodes_of_it:
            yield Rolling(work, nodes_of_it, impact.max_unavailable)


def _everything(step: Step, live: LiveCluster) -> Iterator[tuple[Rolling, ...]]:
    """Whether an upgrade of machine-config moves nodes nobody knows before: they count as if all of them reboot, as its
    change window is reckoned.
    """
    pools = {} if isinstance(live.pools, Unknown) else live.pools.value
    for name in step.pools:
        nodes = machine_count(pools[name]) if name in pools else None
        if nodes:
            yield (Rolling(Work.REBOOT, nodes, max_unavailable(pools[name], nodes)),)


# -------------------------------------------------------------------------------------------------------- under way


def under_way(found: Assessment, live: LiveCluster, looks: Looks) -> tuple[Leg, ...]:
    """What of a cluster in flight is written already, and not at its end."""
    gates = found.gates
    if gates is None:
        return ()
    modules = [m for m, v in gates.modules.items() if not isinstance(v, Open) and m not in gates.unpublished]
    legs = [Leg(HOLD.total_seconds(), module=m, under_way=True) for m in modules]
    left = [
        tuple(_left(found, live, pool))
        for pool in found.closed
        if isinstance(gates.readings.get(pool), Unsettled)
    ]
    if left:
        legs.append(Leg(looks.settled, tuple(p for p in left if p)))
    return tuple(legs)


def _left(found: Assessment, live: LiveCluster, pool: str) -> Iterator[Rolling]:
    pools = {} if isinstance(live.pools, Unknown) else live.pools.value
    roll = found.memory.rolls.get(f"pool/{pool}")
    body = pools.get(pool)
    if body is None:
        return
    target = rendered_name(body)
    world = World({}, pools)
    nodes = live.nodes.value.values() if isinstance(live.nodes, Known) else ()
    members = [read_node(n) for n in nodes if world.pools_of(n) == (pool,)]
    behind = [n for n in members if not n.settled_on(target)]
    total = len(members) or machine_count(body) or 0
    at_once = max_unavailable(body, total)
    if roll is not None and not behind:  # not rendered yet
        yield Rolling(roll.work, roll.nodes, roll.at_once)
        return
    count = len(behind) if members else total
    if not count:
        return
    begun = any(n.desired == target and n.current != target for n in behind)
    work = roll.work if roll is not None else _work_between(live, {n.current for n in behind}, target)
    yield Rolling(work, count, at_once, begun)


def _work_between(live: LiveCluster, currents: set[str], target: str) -> Work:
    """The worst of what nodes go through from these rendered configs to another; a reboot where they were not read."""
    rendered = {} if isinstance(live.rendered, Unknown) else live.rendered.value
    worst = Work.QUIET
    for name in currents:
        if name not in rendered or target not in rendered:
            return Work.REBOOT
        found = disruption_of(
            effective_of(rendered[name]), effective_of(rendered[target]), policy_after(live, ())
        )
        worst = min(worst, work_of(found), key=(Work.REBOOT, Work.DRAIN, Work.QUIET).index)
    return worst
