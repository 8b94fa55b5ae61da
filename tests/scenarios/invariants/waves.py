"""Who may start, and beside whom: waves, soaks, budgets, and global alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from gitops_mc.core.model import GLOBAL_CLUSTER
from gitops_mc.core.policy import Approval, Count
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.waves import Line, contents_digest, lines
from tests.scenarios.drawn import Aside
from tests.scenarios.invariants.evidence import Evidence, told
from tests.scenarios.recording import OurWrite

RARELY = timedelta(seconds=75)
"""How far apart two looks at a cluster at rest may be."""


def keeps_waves_and_budgets(e: Evidence) -> None:
    """A cluster starts when the waves before it are done and there is a place, but for what is tolerated."""
    for one in e.starts():
        admission = e.admission(one)
        _may_start(e, replace(one, look=admission), e.s.heads[admission])


def _may_start(e: Evidence, one: OurWrite, head: Fleet) -> None:
    ordered, _ = lines(head.policy, head.clusters)
    position = next(i for i, line in enumerate(ordered) if one.cluster in line.members)
    total, rollout = len(head.clusters), head.policy.rollout
    tolerated = rollout.max_failures.of(total) + rollout.max_unreachable.of(total)
    desired = {c.name: c for c in head.clusters}
    earlier = [n for line in ordered[:position] for n in line.members if not desired[n].blocked]
    memory = e.s.looks[one.look].memory
    skipped = {
        n for n in desired if memory.cluster(n).skipped == desired[n].content
    }  # a human frees its place
    behind = [n for n in earlier if n not in skipped and not e.stood(n, one, head)]
    if len(behind) > tolerated:
        e.fail(f"1: {told(one)} although {', '.join(behind)} of earlier waves are not done")
    places: Count = ordered[position].wave.max_concurrent
    limit = places.at_least_one(len(ordered[position].members)) + tolerated
    flying = [n for n in e.orders if n not in {one.cluster, *skipped} and e.unfinished(n, one)]
    if len(flying) + 1 > limit:
        e.fail(f"1: {told(one)} beside {', '.join(flying)}: more than {limit} at once")
    live = e.s.looks[one.look].live
    rolling = [n for n in flying if memory.cluster(n).failure is None and n in live and live[n].dark is None]
    if rolling and GLOBAL_CLUSTER in (one.cluster, *rolling):
        e.fail(f"1: {told(one)} beside {', '.join(rolling)}: global rolls alone")


def a_wave_soaks_before_the_next_one_starts(e: Evidence) -> None:
    """For as long as fleet.yaml says, since the last write to it, every cluster that passed in it stood settled."""
    forward = sum(x.seconds for x in e.s.script.events if x.what is Aside.CLOCK and 0 < x.seconds < 120)
    for one in e.starts():
        admission = e.admission(one)
        head = e.s.heads[admission]
        ordered, _ = lines(head.policy, head.clusters)
        position = next(i for i, line in enumerate(ordered) if one.cluster in line.members)
        for line in ordered[:position]:
            soak = line.wave.soak - timedelta(seconds=forward)
            if soak > timedelta(0):
                _has_soaked(e, replace(one, look=admission), line, soak)


def manual_waves_are_approved(e: Evidence) -> None:
    """In a wave that waits for approval nothing starts before somebody has approved these very contents of it."""
    for one in e.starts():
        admission = e.admission(one)
        head = e.s.heads[admission]
        line = next(x for x in lines(head.policy, head.clusters)[0] if one.cluster in x.members)
        if line.wave.approval is not Approval.MANUAL:
            continue
        wanted = contents_digest(line, {c.name: c for c in head.clusters})
        if not any(
            at <= e.s.times[admission] and _contents(line, said) == wanted for at, said in e.s.approvals
        ):
            e.fail(f"1: {told(one)} in wave {line.wave.name}, which nobody has approved")


def _contents(line: Line, said: Fleet) -> str:
    clusters = {c.name: c for c in said.clusters}
    return contents_digest(line, clusters) if set(line.members) <= clusters.keys() else ""


def _has_soaked(e: Evidence, one: OurWrite, line: Line, soak: timedelta) -> None:
    head, memory, now = e.s.heads[one.look], e.s.looks[one.look].memory, e.s.times[one.look]
    wanted = {c.name: c.content for c in head.clusters}
    for name in line.members:
        passed = memory.cluster(name)
        if not passed.out or passed.started != wanted[name]:
            continue
        writes = [w.write.time for w in e.by_cluster[name] if w.look < one.look]
        since = max(writes, default=e.s.start)
        if now - since < soak:
            e.fail(
                f"1: {told(one)} at {now:%H:%M:%S}; {name} of wave {line.wave.name} was written to at {since:%H:%M:%S}, and its soak is {soak}"
            )
        clean = _longest_clean(e, name, one, head)
        if clean + RARELY < soak:
            e.fail(
                f"1: {told(one)}; {name} of wave {line.wave.name} stood settled for {clean} at most, and its soak is {soak}"
            )


def _longest_clean(e: Evidence, name: str, one: OurWrite, head: Fleet) -> timedelta:
    """The longest time over which every look found the cluster settled."""
    longest, begun = timedelta(0), None
    for i in range(e.s.known[one.look][name] + 1):
        read = e.s.reads[name][i]
        if not read.answered or e.sick(name, i, head):
            begun = None
            continue
        begun = begun or read.at
        longest = max(longest, read.at - begun)
    return longest


def disrupts_within_the_bound(e: Evidence) -> None:
    """Clusters with a node down on its way from one config to another, where nobody else set it in motion."""
    others = {a.cluster for a in e.s.script.hands if a.deed.value in {"label", "unlabel", "edit"}}
    others |= {x.cluster for x in e.s.script.events if x.what is Aside.SKIP}
    others |= {name for name, *_ in e.s.excused}  # somebody said that a node of it does not count
    others |= {x.cluster for x in e.s.unmarked}  # nothing tells any more that what rolls there is ours
    bound = max(_bound(head) for head in e.s.heads)
    points = []
    for name in e.orders:
        if name in others:
            continue
        standing = e.standing(name)
        was = False
        for write in e.servers[name]:
            if not write.resource.startswith("nodes"):
                continue
            standing.forward(write.seq)
            now = standing.disrupted()
            if now != was and write.time >= e.s.start:
                points.append((write.time, now, name))
            was = now
    down: set[str] = set()
    for at, begins, name in sorted(points):
        (down.add if begins else down.discard)(name)
        if len(down) > bound:
            e.fail(f"11: at {at:%H:%M:%S} {', '.join(sorted(down))} are disrupted at once, bound {bound}")


def _bound(head: Fleet) -> int:
    ordered, _ = lines(head.policy, head.clusters)
    total, rollout = len(head.clusters), head.policy.rollout
    at_once = max((x.wave.max_concurrent.at_least_one(len(x.members)) for x in ordered), default=0)
    return at_once + rollout.max_failures.of(total) + rollout.max_unreachable.of(total)


def what_has_passed_is_left_alone(e: Evidence) -> None:
    """A cluster whose started content has passed is not written to."""
    for one in e.s.ours:
        if e.memory(one).out:
            e.fail(f"10: {told(one)} although it has passed")
