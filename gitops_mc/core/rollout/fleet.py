"""next_moves: the heart. Fleet, memory, what was observed, and the time -> moves and the memory to keep.

Pure and total: called on every pass, it starts from nothing but its arguments. The memory it returns is made durable
before any of its moves is carried out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_mc.core.gates import Counting
from gitops_mc.core.live import unread
from gitops_mc.core.model import Commit, DesiredCluster, Known, digest_of
from gitops_mc.core.remembered import another_pass
from gitops_mc.core.rollout.allowing import while_it_lasts
from gitops_mc.core.rollout.case import Assessment, Case, not_understood
from gitops_mc.core.rollout.cluster import assess
from gitops_mc.core.rollout.desk import Desk
from gitops_mc.core.rollout.fault import fleet_fault
from gitops_mc.core.rollout.halting import budget_of, early_failures, soak_failures, with_halt
from gitops_mc.core.rollout.inputs import NO_ACTS, Acts, Fleet, Observed, Pass
from gitops_mc.core.rollout.memory import (
    ClusterMemory,
    FleetMemory,
    PruneLimits,
    prune_in_force,
)
from gitops_mc.core.rollout.moves import Decision, Move, Standing, WaveState, WaveView, said_of_wave
from gitops_mc.core.rollout.next_step import Finished
from gitops_mc.core.rollout.orders import fleet_order, order_of, steps_stand_still, under_orders
from gitops_mc.core.rollout.outlook import gone_views, outlook, view_of
from gitops_mc.core.rollout.pacing import learnt
from gitops_mc.core.rollout.rollback import told_back
from gitops_mc.core.rollout.set_back import not_in_the_future
from gitops_mc.core.rollout.showing import demanded, preview_required, with_shown
from gitops_mc.core.rollout.transitions import passed, proven
from gitops_mc.core.rollout.waves import (
    Budget,
    Line,
    has_work,
    lines,
    look,
    not_reread,
    remembered,
    too_many_away,
)

UNWATCHED = timedelta(minutes=2)
"""After a gap like this between two passes nobody knows what was true meanwhile: settling begins anew."""


def next_moves(
    fleet: Fleet, memory: FleetMemory, observed: Observed, now: datetime, acts: Acts = NO_ACTS
) -> tuple[Decision, FleetMemory]:
    """One pass."""
    another_pass(fleet.policy.name)
    before = memory.clock
    memory = with_shown(with_limits(_after_gap(memory, now), fleet), acts.shown)
    on = Pass(fleet, observed, now, acts, fleet_fault(fleet, observed))
    counting = {c.name: _counting(on, c.name) for c in fleet.clusters}
    memory = steps_stand_still(memory, counting, before, now, UNWATCHED)
    found = without_wave(fleet, {c.name: _assess(c, on, memory) for c in fleet.clusters})
    memory = memory.with_clusters({n: a.memory for n, a in found.items() if n not in observed.busy})
    memory, found = early_failures(memory, found, fleet)
    memory, found = _passes(memory, found, on)
    found = under_orders(found, acts)
    budget = budget_of(fleet, found, memory)
    memory = with_halt(memory, found, budget, on)
    memory, views = _waves(on, memory, found, budget)
    memory, found = soak_failures(on, memory, found, views)
    memory, found = _proven(memory, found, on, views)
    budget = budget_of(fleet, found, memory)
    memory = with_halt(memory, found, budget, on)
    desk = _moves(on, memory, found, views, budget)
    wave_of = {name: view.wave for view in views for name in view.members}
    shown = (
        *(
            view_of(desk.found[c.name], wave_of.get(c.name, ""), observed.busy, desk.memory)
            for c in fleet.clusters
        ),
        *gone_views(desk.memory, desk.found),
    )
    moves = tuple(desk.moves[name] for name in sorted(desk.moves))
    decision = Decision(
        moves=moves,
        outlook=outlook(moves, shown, views, desk.memory, on),
        clusters=shown,
        waves=views,
        attention=_attention(desk.found, views, moves),
    )
    return decision, while_it_lasts(desk.memory, {c.name: c.content for c in fleet.clusters})


# --------------------------------------------------------------------------------------------------- circumstances


def _after_gap(memory: FleetMemory, now: datetime) -> FleetMemory:
    if memory.clock is None:
        return replace(memory, clock=now)
    before, memory = memory.clock, not_in_the_future(memory, now)
    if abs(now - before) <= UNWATCHED:
        return replace(memory, clock=now)
    missed = max(timedelta(0), now - before)
    clusters = {name: _unwatched(m, missed) for name, m in memory.clusters.items()}
    waves = {
        name: w if w.soak_since is None else replace(w, soak_since=w.soak_since + missed)
        for name, w in memory.waves.items()
    }
    return replace(memory, clusters=clusters, waves=waves, clock=now)


def _unwatched(m: ClusterMemory, missed: timedelta) -> ClusterMemory:
    """Time in which nobody looked counts for nothing: what has to hold without a break begins anew, and what has a limit
    has so much longer. A process that was away, and a clock that was set forward, look alike.
    """
    pools = {
        p: replace(c.shifted(missed), settled_since=None, judged_at=c.judged_at and c.judged_at + missed)
        for p, c in m.pool_clocks.items()
    }
    modules = {
        k: replace(c.shifted(missed), ready_since=None, judged_at=c.judged_at and c.judged_at + missed)
        for k, c in m.module_clocks.items()
    }
    return replace(
        m,
        pool_clocks=pools,
        module_clocks=modules,
        gate_since={gate: at + missed for gate, at in m.gate_since.items()},
        dark_since=m.dark_since and m.dark_since + missed,
        step=m.step and replace(m.step, at=m.step.at + missed),
        rolls={},
    )


def prune_limits(memory: FleetMemory, fleet: Fleet) -> FleetMemory:
    """A tightened limit holds at once, a loosened one from the commit after the one that loosened it. In a plain folder, which
    has no commits, any other contents count as the next one.
    """
    said, known = fleet.policy.prune, memory.prune
    commit = _named(fleet)
    if known is None:
        fresh = PruneLimits(commit, said.enabled, said.max_deletes, said.enabled, said.max_deletes)
        return replace(memory, prune=fresh)
    if known.commit == commit and (known.enabled, known.max_deletes) == (
        said.enabled,
        said.max_deletes,
    ):
        return memory
    moved = PruneLimits(commit, said.enabled, said.max_deletes, known.enabled, known.max_deletes)
    return replace(memory, prune=moved)


def _named(fleet: Fleet) -> Commit:
    """The commit; of a plain folder what it says."""
    return fleet.commit or Commit(digest_of([[c.name, c.content] for c in fleet.clusters]))


def with_limits(memory: FleetMemory, fleet: Fleet) -> FleetMemory:
    """The memory with what this commit, and the one before it, say of limits: each holds while one of them asks for it."""
    limited = prune_limits(memory, fleet)
    demand = demanded(memory.previews, fleet.policy, _named(fleet))
    return limited if demand == memory.previews else replace(limited, previews=demand)


def without_wave(fleet: Fleet, found: Mapping[str, Assessment]) -> dict[str, Assessment]:
    """A cluster that no wave takes blocks itself."""
    reason = "no wave in fleet.yaml takes it: name it in one, or add a last wave with `clusters: {}`"
    homeless = {
        name: replace(
            found[name], standing=Standing.BLOCKED, reason=reason, next=None, admission=None, window=None
        )
        for name in lines(fleet.policy, fleet.clusters)[1]
    }
    return {**found, **homeless}


def _counting(on: Pass, cluster: str) -> Counting:
    order = order_of(on.acts, cluster)
    stopped = on.fault or (order is not None and order.counting is Counting.STOPPED)
    return Counting.STOPPED if stopped else Counting.RUNNING


def _assess(cluster: DesiredCluster, on: Pass, memory: FleetMemory) -> Assessment:
    case = Case(
        newest=cluster,
        commit=on.fleet.commit,
        contents={**on.fleet.contents.get(cluster.name, {}), cluster.content: cluster},
        live=on.observed.live.get(cluster.name) or unread(cluster.name, on.now),
        memory=memory.cluster(cluster.name),
        policy=on.fleet.policy,
        prune=prune_in_force(memory),
        now=on.now,
        counting=_counting(on, cluster.name),
        dark=Counting.STOPPED if on.fault else Counting.RUNNING,
        approved=on.acts.approved,
        preview_required=preview_required(on.fleet.policy, memory.previews),
        impatient=on.acts.impatient,
        fault=on.observed.faults.get(cluster.name),
        windows=on.windows(cluster),
    )
    try:
        return learnt(assess(case), case.live, memory.cluster(cluster.name), case.counting, on.now)
    except Exception as error:  # noqa: BLE001 - whatever one cluster has answered, it must not stop the others
        return Assessment(cluster.name, Standing.BLOCKED, not_understood(error), case.memory, cluster)


# ------------------------------------------------------------------------------------------------ failures, passes


def _passes(
    memory: FleetMemory, found: Mapping[str, Assessment], on: Pass
) -> tuple[FleetMemory, dict[str, Assessment]]:
    result = dict(found)
    for name, a in found.items():
        if name in on.observed.busy or not isinstance(a.next, Finished) or not a.in_rollout:
            continue
        after = passed(a.memory, prune_in_force(memory), on.now)
        rolled_back = a.memory.rollback if a.memory.rolled_back else None
        repaired = (a.memory.repairing or a.memory.retrying) and rolled_back is None
        if memory.halt is not None and repaired:
            left = tuple(c for c in memory.halt.clusters if c != name)
            memory = replace(memory, halt=replace(memory.halt, clusters=left) if left else None)
        memory = memory.with_cluster(name, after)
        if rolled_back is not None:
            told = told_back(rolled_back)
            result[name] = replace(
                a, standing=Standing.FAILED, reason=told, memory=after, next=None, admission=None
            )
            continue
        if after.started == a.desired.content and a.admission is None:
            result[name] = replace(a, standing=Standing.PASSED, reason="passed", memory=after, next=None)
            continue
        # what a newer content may do was judged before this one had passed: it is judged anew on the next pass
        told = "passed with what it was on; newer content is looked at next"
        result[name] = replace(
            a, standing=Standing.READY, reason=told, memory=after, next=None, admission=None
        )
    return memory, result


# ----------------------------------------------------------------------------------------------------------- waves


def _waves(
    on: Pass, memory: FleetMemory, found: Mapping[str, Assessment], budget: Budget
) -> tuple[FleetMemory, tuple[WaveView, ...]]:
    clusters = {c.name: c for c in on.fleet.clusters}
    ordered, _ = lines(on.fleet.policy, on.fleet.clusters)
    views: list[WaveView] = []
    read_at = _read_at(on)
    order = fleet_order(on.acts)
    closed = on.fault or ("" if order is None else order.told)
    named = {line.wave.name for line in ordered}
    memory = replace(memory, waves={name: w for name, w in memory.waves.items() if name in named})
    for position, line in enumerate(ordered):
        wave_memory = remembered(line, clusters, memory.waves.get(line.wave.name))
        if line.wave.name in on.acts.approved | on.acts.approved_waves:
            wave_memory = replace(wave_memory, approved=True)
        if not closed and position and has_work(line, found):
            closed = _before_opening(ordered[:position], found, on, budget, read_at)
        view, wave_memory = look(line, found, wave_memory, budget, on.now, closed=closed, read_at=read_at)
        memory = memory.with_wave(line.wave.name, wave_memory)
        views.append(replace(view, contents=wave_memory.contents))
        if view.state is not WaveState.DONE and not closed:
            closed = f"{said_of_wave(line.wave.name, view.state)}: {view.reason}"
    return memory, tuple(views)


def _proven(
    memory: FleetMemory, found: Mapping[str, Assessment], on: Pass, views: Sequence[WaveView]
) -> tuple[FleetMemory, dict[str, Assessment]]:
    """Where no soak is to come any more, a passed cluster has said what it can of its content."""
    soaks = {w.name for w in on.fleet.policy.rollout.waves or () if w.soak > timedelta(0)}
    over = [v for v in views if v.state is WaveState.DONE or v.wave not in soaks]
    result = dict(found)
    for name in (n for v in over for n in v.members):
        a = found[name]
        if a.has_passed and a.memory.changed and name not in on.observed.busy:
            result[name] = replace(a, memory=proven(a.memory))
            memory = memory.with_cluster(name, result[name].memory)
    return memory, result


def _read_at(on: Pass) -> dict[str, datetime]:
    """When the pools of each cluster were read last; without those that do not answer."""
    live = on.observed.live
    return {n: x.pools.at for n, x in live.items() if isinstance(x.pools, Known) and x.dark is None}


def _before_opening(
    before: Sequence[Line],
    found: Mapping[str, Assessment],
    on: Pass,
    budget: Budget,
    read_at: Mapping[str, datetime],
) -> str:
    """Why the wave after `before` stays closed although they are done; empty when it may open."""
    if budget.too_many_unreachable:
        return too_many_away(budget)
    stale = not_reread(before, found, read_at, on.now)
    return f"looking again at {', '.join(stale[:3])} before this wave opens" if stale else ""


# ----------------------------------------------------------------------------------------------------------- moves


def _moves(
    on: Pass,
    memory: FleetMemory,
    found: Mapping[str, Assessment],
    views: tuple[WaveView, ...],
    budget: Budget,
) -> Desk:
    desk = Desk(on, memory, dict(found), budget)
    for name in filter(on.may_stop, found):
        desk.stop(name)
    for name in filter(on.may_write, found):
        desk.resume(name)
    for view in views:
        for name in filter(on.may_write, view.members):
            desk.go_on(name)
    for view in views:
        for name in filter(on.may_write, view.members):
            desk.admit(name, view)
    for name in filter(on.may_write, found):
        desk.roll_back(name)
    return desk


def _attention(
    found: Mapping[str, Assessment], views: tuple[WaveView, ...], moves: tuple[Move, ...]
) -> frozenset[str]:
    """Clusters whose facts decide what comes next."""
    wanted = {move.cluster for move in moves}
    for name, a in found.items():
        if a.in_rollout or a.standing is Standing.NOT_KNOWN:
            wanted.add(name)
    for position, view in enumerate(views):
        if view.state in {WaveState.OPEN, WaveState.SOAKING, WaveState.NEEDS_APPROVAL}:
            wanted.update(view.members)
        if view.state is WaveState.CLOSED and position and views[position - 1].state is WaveState.DONE:
            wanted.update(n for v in views[:position] for n in v.members)
            wanted.update(view.members)
    return frozenset(wanted)
