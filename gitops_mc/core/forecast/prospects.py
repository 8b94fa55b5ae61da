"""Where every cluster stands once it has been looked at for a while, by the engine's own rules: who gets through, from
when on, and who does not, and why.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gitops_mc.core.forecast.courses import Course, Leg, Looks, course_of, under_way
from gitops_mc.core.gates import STANDING_STILL, Counting, ModuleClocks, PoolClocks, Unsettled
from gitops_mc.core.gates.module import HOLD
from gitops_mc.core.live import LiveCluster, unread
from gitops_mc.core.model import DesiredCluster, Kind, Known, Unknown
from gitops_mc.core.rollout.case import Assessment, Case, not_understood
from gitops_mc.core.rollout.cluster import assess
from gitops_mc.core.rollout.fleet import UNWATCHED
from gitops_mc.core.rollout.inputs import Pass
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory, prune_in_force
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.next_step import REFUSED, Await
from gitops_mc.core.rollout.orders import order_of
from gitops_mc.core.rollout.timing import shut
from gitops_mc.core.rollout.windows import Rule, Shut, WindowClosed

_SEEN = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Prospect:
    """One cluster: how it gets through, or why not."""

    found: Assessment
    """As after a while of looking: what is settled has settled."""
    course: Course | None = None
    """What is to be done; None: `no_time` says why nobody knows, or there is nothing to do."""
    before: tuple[Leg, ...] = ()
    """What of older content still rolls before that begins."""
    ready: float = 0.0
    """Seconds until its gates have been looked at for long enough."""
    in_flight: bool = False
    """It goes on, whatever its wave does."""
    rules: tuple[Rule, ...] = ()
    no_time: str = ""
    needs: tuple[str, ...] = ()


def prospect(cluster: DesiredCluster, on: Pass, memory: FleetMemory, looks: Looks) -> Prospect:
    """What is to be expected of one cluster."""
    case = _case(cluster, on, memory)
    found = _assessed(case)
    needs: tuple[str, ...] = ()
    if found.standing is Standing.APPROVAL:
        needs = (f"gitops-mc apply --approve {cluster.name}",)
        found = _assessed(replace(case, approved=frozenset({cluster.name})))
    order = order_of(on.acts, cluster.name)
    told = on.fault or ("" if order is None else order.told)
    if told and found.standing not in {Standing.PASSED, Standing.SKIPPED}:
        return Prospect(found, no_time=told, needs=needs)
    ready = _settling(case, memory.clock, memory.cluster(cluster.name), looks)
    ahead = replace(_ahead(case, found, looks), needs=needs)
    rules = replace(case, windows=on.windows(cluster)).rules(found.desired.content)
    return _in_windows(replace(ahead, ready=ready, rules=rules), on.now)


def _case(cluster: DesiredCluster, on: Pass, memory: FleetMemory) -> Case:
    """As the engine has it on a pass, but for windows, which are asked when a step begins, and clocks, which run on."""
    live = on.observed.live.get(cluster.name) or unread(cluster.name, on.now)
    return Case(
        newest=cluster,
        commit=on.fleet.commit,
        contents={**on.fleet.contents.get(cluster.name, {}), cluster.content: cluster},
        live=live,
        memory=_looked_at_long_enough(memory.cluster(cluster.name), cluster, live, on),
        policy=on.fleet.policy,
        prune=prune_in_force(memory),
        now=on.now,
        counting=Counting.STOPPED,
        approved=on.acts.approved,
        impatient=on.acts.impatient,
        fault=on.observed.faults.get(cluster.name),
    )


def _assessed(case: Case) -> Assessment:
    try:
        return assess(case)
    except Exception as error:  # noqa: BLE001 - whatever one cluster has answered, the others have their times
        return Assessment(case.name, Standing.BLOCKED, not_understood(error), case.memory, case.newest)


def _looked_at_long_enough(
    memory: ClusterMemory, cluster: DesiredCluster, live: LiveCluster, on: Pass
) -> ClusterMemory:
    """As if everything had been seen as it is now for as long as gates ask for: what is settled is open."""
    pools = {} if isinstance(live.pools, Unknown) else live.pools.value
    at = live.pools.at if isinstance(live.pools, Known) else on.now
    settled = at - on.fleet.policy.gates.pool.settle - _SEEN
    clocks = {p: replace(memory.pool_clocks.get(p, PoolClocks()), settled_since=settled) for p in pools}
    seen = live.modules.at if isinstance(live.modules, Known) else on.now
    names = [m.key.name for m in cluster.of_kind(Kind.MODULE_INFO)]
    ready = {
        m: replace(memory.module_clocks.get(m, ModuleClocks()), ready_since=seen - HOLD - _SEEN)
        for m in names
    }
    return replace(
        memory,
        pool_clocks={**memory.pool_clocks, **clocks},
        module_clocks={**memory.module_clocks, **ready},
    )


def _ahead(case: Case, found: Assessment, looks: Looks) -> Prospect:
    """What is still to be done, by where the cluster stands."""
    if stands := _standing_still(found):
        return Prospect(found, no_time=stands)
    arriving, live = found.admission, case.live
    if found.in_rollout and found.desired.content != case.newest.content:
        if arriving is None or arriving.plan is None or arriving.standing not in _TAKES_OVER:
            return Prospect(found, no_time=found.reason if arriving is None else arriving.reason)
        rolls = under_way(found, live, looks)
        return Prospect(found, course_of(arriving.plan, case.newest, live, looks), before=rolls)
    if found.in_rollout and found.standing is Standing.IN_FLIGHT and found.plan is not None:
        course = course_of(found.plan, found.desired, live, looks)
        return Prospect(found, _going_on(found, course, under_way(found, live, looks)), in_flight=True)
    if found.standing is Standing.READY and arriving is not None and arriving.plan is not None:
        return Prospect(found, course_of(arriving.plan, case.newest, live, looks))
    return Prospect(found, no_time="" if found.standing is Standing.PASSED else found.reason)


_TAKES_OVER = (Standing.READY, Standing.IN_FLIGHT)


def _standing_still(found: Assessment) -> str:
    """Why time alone gets a cluster in flight no further: something is Degraded, paused by somebody, or refused."""
    if not found.in_rollout or found.gates is None or found.standing is not Standing.IN_FLIGHT:
        return ""
    if isinstance(found.next, Await) and found.next.step in {REFUSED, "not-read"}:
        return found.next.reason
    readings = (found.gates.readings.get(pool) for pool in found.closed)
    stuck = (r for r in readings if isinstance(r, Unsettled) and (r.terminal or r.paused in STANDING_STILL))
    return "; ".join(r.reason for r in stuck)


def _going_on(found: Assessment, course: Course, rolling: tuple[Leg, ...]) -> Course:
    """The rest of a content that is under way. An open step needs no window for the rest of it, nor does what rolls."""
    legs = course.legs
    if found.mid_step and legs:
        return replace(course, legs=(replace(legs[0], length=None), *legs[1:]))
    return replace(course, legs=(*rolling, *legs))


def _settling(case: Case, clock: datetime | None, memory: ClusterMemory, looks: Looks) -> float:
    """Seconds until what is settled has been so for long enough, by what is really remembered."""
    pools = {} if isinstance(case.live.pools, Unknown) else case.live.pools.value
    if not pools:
        return 0.0
    if clock is None or case.now - clock > UNWATCHED:
        return looks.settled + looks.every / 2
    settle = case.policy.gates.pool.settle
    since = [memory.pool_clocks.get(p, PoolClocks()).settled_since or case.now for p in pools]
    return max(0.0, (settle - (case.now - max(since))).total_seconds())


def _in_windows(ahead: Prospect, now: datetime) -> Prospect:
    """Without a time where a step fits no window, or where nobody knows whether it does."""
    if ahead.course is None or not ahead.rules:
        return ahead
    for leg in ahead.course.all_legs:
        if leg.length is None:
            continue
        found = shut(ahead.found.name, ahead.rules, leg.length, now)
        if found is not None and found.opens_at is not None and leg.length.span is None:
            found = shut(ahead.found.name, ahead.rules, leg.length, found.opens_at)
        if isinstance(found, WindowClosed) and found.shut is not Shut.LATER:
            return replace(ahead, course=None, in_flight=False, no_time=f"refused: {found.reason}")
    return ahead
