"""Orders that stand until whoever gave them takes them back: suspended, held, aborted. What they do to a cluster's standing,
and to the time that counts for it. Pausing what rolls is in `gitops_mc.core.rollout.aborting`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_mc.core.gates import Counting
from gitops_mc.core.rollout.case import Assessment, Order
from gitops_mc.core.rollout.inputs import Abort, Acts
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.next_step import Finished

_WAITS = (Standing.BLOCKED, Standing.UNPUBLISHED, Standing.APPROVAL)
"""What would keep a held cluster from starting anyway: it is waited for all the same, and counts against no limit."""
_TOLD = (Standing.IN_FLIGHT, Standing.FAILED, Standing.NOT_KNOWN)


def fleet_order(acts: Acts) -> Order | None:
    """What stands for every cluster."""
    if acts.suspended:
        told = f"the rollout is suspended ({acts.suspended})"
        return Order(told, "resume the rollout", all_writes=True, counting=Counting.STOPPED)
    return None if acts.aborted is None else _abort("the rollout", acts.aborted)


def order_of(acts: Acts, cluster: str) -> Order | None:
    """What stands for one cluster; of several orders the one that stops most."""
    if (whole := fleet_order(acts)) is not None and acts.suspended:
        return whole
    abort = acts.abort(cluster)
    if abort is not None:
        return _abort("the rollout" if abort is acts.aborted else cluster, abort)
    if cluster not in acts.held:
        return None
    told = f"{cluster} is held ({acts.held[cluster]})"
    return Order(told, f"take the hold of {cluster} back", all_writes=False, counting=Counting.RUNNING)


def _abort(what: str, abort: Abort) -> Order:
    by = f" by {abort.by}" if abort.by else ""
    finish = "; what rolls may roll to its end" if abort.let_finish else ""
    told = f"{what} was aborted{by} ({abort.reason}){finish}"
    counting = Counting.RUNNING if abort.let_finish else Counting.STOPPED
    return Order(told, f"resume {what}", all_writes=True, counting=counting)


def under_orders(found: Mapping[str, Assessment], acts: Acts) -> dict[str, Assessment]:
    """Where clusters stand under the orders that are given."""
    orders = {name: order_of(acts, name) for name in found}
    return {
        name: a if (order := orders[name]) is None else _under(replace(a, order=order), order)
        for name, a in found.items()
    }


def _under(a: Assessment, order: Order) -> Assessment:
    told = f"{order.told}; {a.reason}" if a.reason else order.told
    if _waits(a, order):
        return replace(a, standing=Standing.HELD, reason=told)
    return replace(a, reason=told) if a.standing in _TOLD else a


def _waits(a: Assessment, order: Order) -> bool:
    if a.standing is not Standing.READY:
        return not order.all_writes and a.standing in _WAITS and not a.in_rollout
    as_git_says = a.admission is not None and isinstance(a.admission.next, Finished)
    return order.all_writes or not as_git_says


def steps_stand_still(
    memory: FleetMemory,
    stopped: Mapping[str, Counting],
    before: datetime | None,
    now: datetime,
    longest: timedelta,
) -> FleetMemory:
    """The memory where the time since `before` counts for no open step of a cluster whose clocks are stopped. `longest`: a
    longer time was unwatched, and has been taken out already.
    """
    elapsed = timedelta(0) if before is None else now - before
    if not timedelta(0) < elapsed <= longest:
        return memory
    for name, counting in stopped.items():
        m = memory.cluster(name)
        if counting is Counting.STOPPED and m.step is not None:
            memory = memory.with_cluster(name, replace(m, step=replace(m.step, at=m.step.at + elapsed)))
    return memory
