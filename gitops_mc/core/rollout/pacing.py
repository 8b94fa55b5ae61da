"""Learning how long work takes: timed from the write that lets nodes go to the look at which all is settled.

A span is learnt only if nothing but the work took time in it. Somebody's pause, an abort, a suspension, an outage, a look
that did not come, a node that is Degraded, cordoned by hand or excused, a limit that changed: each ends the timing, and
nothing is learnt. So what is kept is what rollouts take when nothing fails, which is what a forecast says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from gitops_mc.core.disruption import Disruption
from gitops_mc.core.gates import STANDING_STILL, Counting, Paused, PoolNotKnown, Settled, Unsettled
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Failed, Open, Unknown
from gitops_mc.core.plan import ClusterPlan, PoolImpact, StepKind
from gitops_mc.core.pools import machine_count, max_unavailable
from gitops_mc.core.rollout.case import Assessment
from gitops_mc.core.rollout.memory import ClusterMemory
from gitops_mc.core.rollout.moves import Apply, Pause, Unpause
from gitops_mc.core.rollout.next_step import Act, marked_pools
from gitops_mc.core.rollout.paces import Pace, Roll, Work, with_pace

BETWEEN_LOOKS: Final = timedelta(minutes=1)
"""Where the look that saw it settled came longer than this after the one before, nobody knows when it was."""
_POOL, _MODULE = "pool/", "module/"


def work_of(disruption: Disruption) -> Work:
    """What a node goes through, as far as its time is concerned."""
    if disruption.reboot:
        return Work.REBOOT
    return Work.DRAIN if disruption.drain else Work.QUIET


# ---------------------------------------------------------------------------------------------------------- begun


def timed(
    memory: ClusterMemory, act: Act, plan: ClusterPlan | None, live: LiveCluster, now: datetime
) -> ClusterMemory:
    """The memory with what a move sets off. A second write to what is timed already ends its timing."""
    match act.move:
        case Unpause():
            rolls = {
                key: replace(roll, since=roll.since or now) if _of(key, act.step.pools) else roll
                for key, roll in memory.rolls.items()
            }
            return replace(memory, rolls=rolls)
        case Apply() if plan is not None:
            held = marked_pools(live)
            kept = {k: r for k, r in memory.rolls.items() if r.since is None or not _of(k, act.step.pools)}
            fresh = {
                key: replace(roll, since=None if key.removeprefix(_POOL) in held else now)
                for key, roll in _set_off(act, plan)
                if key not in memory.rolls
            }
            return replace(memory, rolls={**fresh, **kept})
        case Apply() | Pause():
            return memory


def _of(key: str, pools: tuple[str, ...]) -> bool:
    return key.startswith(_POOL) and key.removeprefix(_POOL) in pools


def _set_off(act: Act, plan: ClusterPlan) -> Iterator[tuple[str, Roll]]:
    step = act.step
    if step.kind is StepKind.MODULE:
        yield f"{_MODULE}{step.subject}", Roll(Work.MODULE, 1, 1)
    if step.kind is StepKind.POOLS:
        for impact in plan.impacts:
            if impact.pool in step.pools and (roll := _roll_of(impact)) is not None:
                yield f"{_POOL}{impact.pool}", roll


def _roll_of(impact: PoolImpact) -> Roll | None:
    """None where nodes go through different things: how long each took could not be told."""
    works = {work_of(n.disruption) for n in impact.nodes}
    nodes = sum(n.count for n in impact.nodes)
    return Roll(works.pop(), nodes, impact.max_unavailable) if len(works) == 1 and nodes else None


# --------------------------------------------------------------------------------------------------------- learnt


def learnt(
    a: Assessment, live: LiveCluster, before: ClusterMemory, counting: Counting, now: datetime
) -> Assessment:
    """The assessment with what its cluster has taught by this look. `before`: its memory as of the last look."""
    memory = a.memory
    if not memory.rolls:
        return a
    if _disturbed(memory, counting, now):
        return replace(a, memory=replace(memory, rolls={}))
    if a.gates is None:
        return a
    rolls = dict(memory.rolls)
    paces = memory.paces
    for key, roll in memory.rolls.items():
        if roll.since is None:
            continue
        pool = key.removeprefix(_POOL) if key.startswith(_POOL) else ""
        if pool and _still_held(a, pool):
            rolls[key] = replace(roll, since=None)
            continue
        over = _pool_over(a, live, pool, roll, before) if pool else _module_over(a, key, roll)
        if over is None:
            rolls[key] = replace(roll, moved=roll.moved or _moves(a, pool))
            continue
        del rolls[key]
        if over > timedelta(0) and (roll.moved or not pool):
            module = "" if pool else key.removeprefix(_MODULE)
            pace = Pace(roll.work, roll.nodes, roll.at_once, round(over.total_seconds()), module)
            paces = with_pace(paces, pace)
    return replace(a, memory=replace(memory, rolls=rolls, paces=paces))


def _disturbed(memory: ClusterMemory, counting: Counting, now: datetime) -> bool:
    dark = memory.dark_since is not None and now - memory.dark_since > BETWEEN_LOOKS
    failed = memory.failure is not None or memory.rollback is not None
    return counting is Counting.STOPPED or dark or failed or bool(memory.excused_nodes(now))


def _still_held(a: Assessment, pool: str) -> bool:
    """Whether our bracket stands yet: the patch that ends it has not gone through, and will be sent again."""
    reading = None if a.gates is None else a.gates.readings.get(pool)
    return isinstance(reading, Unsettled) and reading.paused is Paused.BY_US


def _moves(a: Assessment, pool: str) -> bool:
    return a.gates is not None and isinstance(a.gates.readings.get(pool), Unsettled)


_NOTHING_LEARNT = timedelta(0)


def _pool_over(
    a: Assessment, live: LiveCluster, pool: str, roll: Roll, before: ClusterMemory
) -> timedelta | None:
    """How long it took, or zero where that is not to be learnt; None: it goes on."""
    assert a.gates is not None
    assert roll.since is not None
    reading = a.gates.readings.get(pool)
    clocks, was = a.memory.pool_clocks.get(pool), before.pool_clocks.get(pool)
    match reading:
        case Settled() if clocks is not None and clocks.settled_since is not None:
            if was is None or was.settled_since is None:  # this look is the first that sees it
                seen = roll.since if was is None or was.judged_at is None else max(was.judged_at, roll.since)
                return None if clocks.settled_since - seen <= BETWEEN_LOOKS else _NOTHING_LEARNT
            if not isinstance(a.gates.pools.get(pool), Open):
                return None
            return clocks.settled_since - roll.since if _limit_holds(live, pool, roll) else _NOTHING_LEARNT
        case Unsettled():
            flapped = was is not None and was.settled_since is not None and was.settled_since > roll.since
            stopped = reading.paused in STANDING_STILL
            bad = flapped or stopped or reading.terminal is not None or bool(reading.needs_hands)
            return _NOTHING_LEARNT if bad else None
        case PoolNotKnown() | Settled() | None:
            return _NOTHING_LEARNT


def _limit_holds(live: LiveCluster, pool: str, roll: Roll) -> bool:
    """Whether as many nodes may be away at once as when it began."""
    body = None if isinstance(live.pools, Unknown) else live.pools.value.get(pool)
    total = None if body is None else machine_count(body)
    return body is not None and total is not None and max_unavailable(body, total) == roll.at_once


def _module_over(a: Assessment, key: str, roll: Roll) -> timedelta | None:
    assert a.gates is not None
    assert roll.since is not None
    name = key.removeprefix(_MODULE)
    verdict, clocks = a.gates.modules.get(name), a.memory.module_clocks.get(name)
    if verdict is None or isinstance(verdict, Failed) or name in a.gates.unpublished:
        return _NOTHING_LEARNT
    if not isinstance(verdict, Open) or clocks is None or clocks.ready_since is None:
        return None
    return max(timedelta(seconds=1), clocks.ready_since - roll.since)
