"""The pool gate, read from one observation: is this pool healthy *with what its live configs say*?

Right after a write a pool still says Updated, so conditions alone prove nothing. What proves it: the merge of the live
configs equals the rendered config both ways, the operator has seen the pool's generation, and every machine is counted
on that config.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gitops_mc.core.gates.agreement import compare_pool
from gitops_mc.core.gates.attribution import RENDER_DEGRADED, Whose, degraded_conditions, terminal_of
from gitops_mc.core.gates.nodes import DEGRADED, NodeState, draining, trouble, unfinished
from gitops_mc.core.gates.pool_checks import FIRM, MACHINES, lacking, mismatches, node_by_node, paused_by
from gitops_mc.core.gates.pool_view import PoolView, capacity_left, progress_of, view_pool
from gitops_mc.core.gates.readings import (
    Agreement,
    Attribution,
    NodeFault,
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
from gitops_mc.core.model import Unknown, count, named
from gitops_mc.core.policy import PoolGatePolicy
from gitops_mc.core.pools import rendered_name
from gitops_mc.core.raw import Condition
from gitops_mc.core.remembered import Remembered


def read_pool(
    live: LiveCluster,
    pool: str,
    *,
    order: MergeOrder | None,
    policy: PoolGatePolicy,
    excused: frozenset[str] = frozenset(),
    ours: frozenset[str] = frozenset(),
    edited: frozenset[str] = frozenset(),
) -> PoolReading:
    """Read one pool. `order` is what was learnt on this cluster, `excused` the nodes a human excused there, `ours` the
    names of MachineConfigs we own (those we have just removed included) and `edited` of those that somebody has edited
    since we wrote them, for attribution.
    """
    known, unknown = live.read()
    return _READINGS.get(
        (policy, *known),
        (pool, order, excused, ours, edited, *unknown),
        lambda: _read_pool(live, pool, _Told(order, policy, excused, Whose(ours, edited))),
    )


_READINGS: Remembered[PoolReading] = Remembered(2048)


@dataclass(frozen=True, slots=True)
class _Told:
    """What is known beside the live state; see `read_pool`."""

    order: MergeOrder | None
    policy: PoolGatePolicy
    excused: frozenset[str]
    whose: Whose


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
        return _unsettled(view, found, known)
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
        reason=f"pool {pool} of {cluster}: {told}",
        blockers=(told,),
        terminal=None,
        progress="absent/-",
        mismatch=(),
        agreement=Agreement.NOT_KNOWN,
        paused=Paused.NO,
        capacity_left=0,
        commands=("kubectl get machineconfigpools",),
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


def _unsettled(view: PoolView, found: _Found, known: _Told) -> Unsettled:
    target = rendered_name(view.body)
    hands = tuple(t for node in view.counted if (t := trouble(node, target)) is not None)
    drains = tuple(t for node in view.counted if (t := draining(node)) is not None)
    terminal = _terminal(view, known)
    name = f"{view.live.name}/{view.name}"
    return Unsettled(
        cluster=view.live.name,
        pool=view.name,
        reason=_reason(view, found, terminal, (*hands, *drains)),
        blockers=found.blockers,
        terminal=terminal,
        progress=progress_of(view),
        mismatch=view.comparison.mismatch,
        agreement=view.comparison.agreement,
        paused=paused_by(view.body),
        capacity_left=capacity_left(view),
        needs_hands=hands,
        draining=drains,
        commands=_commands(view, (*hands, *drains)),
        accept=f"mismatch:{name}:{view.comparison.digest[:12]}" if found.only_mismatch else "",
    )


def _terminal(view: PoolView, known: _Told) -> Terminal | None:
    """Degraded as the gate counts it: trouble of excused nodes alone is none."""
    rendering = any(c.type == RENDER_DEGRADED for c in degraded_conditions(view.body))
    degraded = [node for node in view.members if node.state == DEGRADED]
    if not rendering and degraded and all(node.name in view.excused for node in degraded):
        return None
    nodes = None if view.membership is None else view.counted
    return terminal_of(view.live, view.body, view.comparison, nodes, known.whose)


def _reason(
    view: PoolView, found: _Found, terminal: Terminal | None, troubles: tuple[NodeTrouble, ...]
) -> str:
    """All of it in one sentence, each thing once: what, on which node, since when."""
    target = rendered_name(view.body)
    faults = {} if terminal is None else {fault.node: fault for fault in terminal.nodes}
    others = _others(view, troubles)
    queued = [node.name for node in others if node.queued_for(target)]
    nodes = [_with_fault(item, faults.get(item.node)) for item in troubles]
    nodes += [unfinished(node, target) for node in others if not node.queued_for(target)]
    told = [*found.firm, *found.mismatch, *_counted(view, found, nodes, queued), *found.lacking, *nodes]
    told = _shortened(list(dict.fromkeys(told)))
    told += [_waiting(queued)] if queued else []
    return f"pool {view.name} of {view.live.name}: {'; '.join(told)}"


def _others(view: PoolView, troubles: tuple[NodeTrouble, ...]) -> list[NodeState]:
    """Nodes that are not done and go on by themselves."""
    troubled, target = {item.node for item in troubles}, rendered_name(view.body)
    return [node for node in view.counted if node.name not in troubled and not node.settled_on(target)]


def _with_fault(trouble: NodeTrouble, fault: NodeFault | None) -> str:
    """A Degraded node with what it was about to get, or that it drifted: that is where to look first."""
    if fault is None:
        return str(trouble)
    if fault.attribution is Attribution.DRIFT:
        return f"{trouble}; it drifted, restore it by hand"
    names = ", ".join(_shortened(list(fault.entries)))
    return f"{trouble}; it was to get {names}" if names else str(trouble)


def _counted(
    view: PoolView, found: _Found, unfinished_nodes: list[str], queued: list[str]
) -> tuple[str, ...]:
    """What the pool says of its machines, as far as nothing else tells it: a node that is not done and is named, a condition
    that the counts follow from, a config that cannot be rendered.
    """
    if view.excused:
        target = rendered_name(view.body)
        single = {unfinished(node, target) for node in view.counted}
        return tuple(blocker for blocker in found.machines if blocker not in single)
    conditions = degraded_conditions(view.body)
    if unfinished_nodes or any(c.type == RENDER_DEGRADED for c in conditions):
        return ()
    return tuple(_once(conditions)) or (found.machines[:1] if queued else found.machines)


def _waiting(names: list[str]) -> str:
    """Nodes that are well and have yet to be moved, by name where they are few."""
    if len(names) > _NAMED:
        return f"{len(names)} nodes wait for their turn"
    return f"{named('node', names)} {'waits for its turn' if len(names) == 1 else 'wait for their turn'}"


def _once(conditions: Iterable[Condition]) -> Iterator[str]:
    """`NodeDegraded` is not told beside a `Degraded` since then: it is why that one holds."""
    known = list(conditions)
    general = {c.since for c in known if c.type == DEGRADED}
    yield from (str(c) for c in known if c.type == DEGRADED or c.since not in general)


def _commands(view: PoolView, troubles: tuple[NodeTrouble, ...]) -> tuple[str, ...]:
    found = [command for item in troubles for command in item.commands]
    found += [f"kubectl describe node {node.name}" for node in _others(view, troubles) if not node.ready]
    return tuple(dict.fromkeys(found)) or (f"kubectl describe machineconfigpool {view.name}",)


_NAMED = 5
_TOLD = 8
"""Parts of a reason that are shown; the reading has all of them."""


def _shortened(parts: list[str]) -> list[str]:
    return parts if len(parts) <= _TOLD else [*parts[:_TOLD], f"and {len(parts) - _TOLD} more"]
