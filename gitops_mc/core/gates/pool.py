"""The pool gate, read from one observation: is this pool healthy *with what its live configs say*?

Right after a write a pool still says Updated, so conditions alone prove nothing. What proves it: the merge of the live
configs equals the rendered config both ways, the operator has seen the pool's generation, and every machine is counted
on that config.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitops_mc.core.gates.agreement import compare_pool
from gitops_mc.core.gates.attribution import RENDER_DEGRADED, degraded_conditions, terminal_of
from gitops_mc.core.gates.nodes import DEGRADED, draining, trouble, unfinished
from gitops_mc.core.gates.pool_checks import FIRM, MACHINES, lacking, mismatches, node_by_node, paused_by
from gitops_mc.core.gates.pool_view import PoolView, capacity_left, progress_of, view_pool
from gitops_mc.core.gates.readings import (
    Agreement,
    NodeTrouble,
    Paused,
    PoolNotKnown,
    PoolReading,
    Settled,
    Terminal,
    Unsettled,
)
from gitops_mc.core.ignition import MergeOrder
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Unknown, count
from gitops_mc.core.policy import PoolGatePolicy
from gitops_mc.core.pools import rendered_name
from gitops_mc.core.remembered import Remembered


def read_pool(
    live: LiveCluster,
    pool: str,
    *,
    order: MergeOrder | None,
    policy: PoolGatePolicy,
    excused: frozenset[str] = frozenset(),
    ours: frozenset[str] = frozenset(),
) -> PoolReading:
    """Read one pool. `order` is what was learnt on this cluster, `excused` the nodes a human excused there, `ours` the
    names of MachineConfigs we own (those we have just removed included), for attribution.
    """
    known, unknown = live.read()
    return _READINGS.get(
        (policy, *known),
        (pool, order, excused, ours, *unknown),
        lambda: _read_pool(live, pool, _Told(order, policy, excused, ours)),
    )


_READINGS: Remembered[PoolReading] = Remembered(2048)


@dataclass(frozen=True, slots=True)
class _Told:
    """What is known beside the live state; see `read_pool`."""

    order: MergeOrder | None
    policy: PoolGatePolicy
    excused: frozenset[str]
    ours: frozenset[str]


def _read_pool(live: LiveCluster, pool: str, known: _Told) -> PoolReading:
    if live.dark is not None:
        told = f"{live.name} does not answer since {live.dark.since.isoformat()}: {live.dark.reason}"
        return PoolNotKnown(live.name, pool, told)
    if isinstance(live.pools, Unknown):
        return PoolNotKnown(live.name, pool, f"pools of {live.name} were not read: {live.pools.reason}")
    body = live.pools.value.get(pool)
    if body is None:
        return _absent(live.name, pool)
    view = view_pool(
        live, body, compare_pool(live, body, known.order, known.policy.operator_files), known.excused
    )
    found = _look(view)
    if found.blockers:
        return _unsettled(view, found, known.ours)
    if found.lacking:
        return PoolNotKnown(live.name, pool, f"pool {pool} of {live.name}: {'; '.join(found.lacking)}")
    return _settled(view)


@dataclass(frozen=True, slots=True)
class _Found:
    firm: tuple[str, ...]
    mismatch: tuple[str, ...]
    machines: tuple[str, ...]
    lacking: tuple[str, ...]

    @property
    def blockers(self) -> tuple[str, ...]:
        return (*self.firm, *self.mismatch, *self.machines)

    @property
    def only_mismatch(self) -> bool:
        return bool(self.mismatch) and not (self.firm or self.machines or self.lacking)


def _look(view: PoolView) -> _Found:
    machines = tuple(blocker for check in MACHINES for blocker in check(view))
    if machines and view.excused:
        machines = tuple(node_by_node(view))
    return _Found(
        firm=tuple(blocker for check in FIRM for blocker in check(view)),
        mismatch=tuple(mismatches(view)),
        machines=machines,
        lacking=lacking(view),
    )


def _absent(cluster: str, pool: str) -> Unsettled:
    told = "it does not exist"
    return Unsettled(
        cluster=cluster,
        pool=pool,
        reason=f"pool {pool} of {cluster}: {told}; see kubectl get machineconfigpools",
        blockers=(told,),
        terminal=None,
        progress="absent/-",
        mismatch=(),
        agreement=Agreement.NOT_KNOWN,
        paused=Paused.NO,
        capacity_left=0,
    )


def _settled(view: PoolView) -> Settled:
    excused = tuple(sorted(view.excused))
    without = f", without the excused {', '.join(excused)}" if excused else ""
    machines = view.machines or 0
    return Settled(
        cluster=view.live.name,
        pool=view.name,
        reason=f"pool {view.name} of {view.live.name}: {count(machines, 'machine')} on {rendered_name(view.body)}{without}",
        progress=progress_of(view),
        capacity_left=capacity_left(view),
        excused=excused,
    )


def _unsettled(view: PoolView, found: _Found, ours: frozenset[str]) -> Unsettled:
    target = rendered_name(view.body)
    hands = tuple(t for node in view.counted if (t := trouble(node, target)) is not None)
    drains = tuple(t for node in view.counted if (t := draining(node)) is not None)
    name = f"{view.live.name}/{view.name}"
    return Unsettled(
        cluster=view.live.name,
        pool=view.name,
        reason=_reason(view, found, hands, drains),
        blockers=found.blockers,
        terminal=_terminal(view, ours),
        progress=progress_of(view),
        mismatch=view.comparison.mismatch,
        agreement=view.comparison.agreement,
        paused=paused_by(view.body),
        capacity_left=capacity_left(view),
        needs_hands=hands,
        draining=drains,
        accept=f"mismatch:{name}:{view.comparison.digest[:12]}" if found.only_mismatch else "",
    )


def _terminal(view: PoolView, ours: frozenset[str]) -> Terminal | None:
    """Degraded as the gate counts it: trouble of excused nodes alone is none."""
    rendering = any(c.type == RENDER_DEGRADED for c in degraded_conditions(view.body))
    degraded = [node for node in view.members if node.state == DEGRADED]
    if not rendering and degraded and all(node.name in view.excused for node in degraded):
        return None
    nodes = None if view.membership is None else view.counted
    return terminal_of(view.live, view.body, view.comparison, nodes, ours)


def _reason(
    view: PoolView, found: _Found, hands: tuple[NodeTrouble, ...], drains: tuple[NodeTrouble, ...]
) -> str:
    """All of it in one sentence: what, on which node, since when, and what to type."""
    target = rendered_name(view.body)
    troubled = {item.node for item in (*hands, *drains)}
    others = [node for node in view.counted if node.name not in troubled and not node.settled_on(target)]
    queued = [node for node in others if node.queued_for(target)]
    moving = [node for node in others if not node.queued_for(target)]
    told = [*found.blockers, *found.lacking, *map(str, (*hands, *drains))]
    told += [unfinished(node, target) for node in moving]
    told = _shortened(list(dict.fromkeys(told)))
    if queued:
        told.append(count(len(queued), "node waits for its turn", "nodes wait for their turn"))
    commands = [command for item in (*hands, *drains) for command in item.commands]
    commands += [f"kubectl describe node {node.name}" for node in moving if not node.ready]
    commands = commands or [f"kubectl describe machineconfigpool {view.name}"]
    return (
        f"pool {view.name} of {view.live.name}: {'; '.join(told)}; "
        f"see, on {view.live.name}: {' ; '.join(_shortened(list(dict.fromkeys(commands))))}"
    )


_TOLD = 8
"""Parts of a reason that are shown; the reading has all of them."""


def _shortened(parts: list[str]) -> list[str]:
    return parts if len(parts) <= _TOLD else [*parts[:_TOLD], f"and {len(parts) - _TOLD} more"]
