"""What humans order is kept: judged on what the servers accepted, and on what stood ordered when it was decided."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from gitops_mc.core.model import JsonObject, annotations_of
from gitops_mc.core.rollout.moves import Done
from gitops_mc.sandbox.apiserver import AcceptedWrite
from tests.scenarios.invariants.evidence import Evidence, kind_of, told
from tests.scenarios.recording import OurWrite
from tests.scenarios.witness import BRACKET, DESIRED

ABORT = "gitops-mc.io/aborted"
ON_ITS_WAY = timedelta(seconds=15)
"""How long an operator that had read its pool before it was paused may go on."""


def nothing_is_written_while_suspended(e: Evidence) -> None:
    """Not even to close a bracket; a call that was on its way comes in all the same."""
    for one in decided(e):
        if e.s.acts[one.look].suspended and not pauses_for_an_abort(one):
            e.fail(f"1: {told(one)} while the rollout is suspended")


def nothing_is_written_after_an_abort_but_the_pause(e: Evidence) -> None:
    """And that only of pools that were not paused, and are not marked by a step of ours."""
    for one in decided(e):
        abort = e.s.acts[one.look].abort(one.cluster)
        if abort is None:
            continue
        if abort.let_finish or not pauses_for_an_abort(one):
            e.fail(f"1: {told(one)} after {one.cluster} was aborted")
        before = one.write.before or {}
        if before["spec"].get("paused") or BRACKET in annotations_of(before):
            e.fail(f"2: {told(one)} for an abort, and it was paused already")


def no_step_begins_where_a_cluster_is_held(e: Evidence) -> None:
    """What begins one: no memory of it at the pass before, or another one's."""
    for one in decided(e):
        if one.cluster not in e.s.acts[one.look].held or one.look == 0 or touches_an_abort(one):
            continue
        now, before = e.memory(one).step, e.s.looks[one.look - 1].memory.cluster(one.cluster).step
        if now is not None and (before is None or before.step != now.step):
            e.fail(f"1: {told(one)} begins {now.step} although {one.cluster} is held")


def an_abort_stops_what_rolls(e: Evidence) -> None:
    """Once a pass finds nothing (more) to pause for it, no node of a cluster that we roll is sent anywhere, where nobody else
    sets nodes in motion.
    """
    if e.s.script.hands or e.s.script.troubles:
        return
    for name in e.orders:
        for number, look in enumerate(e.s.looks[:-1]):
            acts, memory = e.s.acts[number], look.memory.cluster(name)
            abort = None if acts.suspended else acts.abort(name)
            stops = abort is not None and not abort.let_finish and memory.begun and not memory.out
            if not stops or any(move.cluster == name for move in look.decision.moves):
                continue
            for node in _sent(e, name, e.s.times[number] + ON_ITS_WAY, e.s.times[number + 1]):
                e.fail(f"1: node {node.name} of {name} is sent on at {node.time:%H:%M:%S}, and it is aborted")


def _sent(e: Evidence, name: str, begin: datetime, end: datetime) -> Iterator[AcceptedWrite]:
    """Writes that give a node another config to go to."""
    for write in e.servers[name]:
        if write.resource.startswith("nodes") and begin <= write.time < end and write.before and write.after:
            before, after = (annotations_of(x).get(DESIRED) for x in (write.before, write.after))
            if before != after:
                yield write


def what_is_done_leaves_no_pool_stopped(e: Evidence) -> None:
    """Where all is done, no pool carries the mark of a step or an abort of ours, but where the work was forgotten."""
    if not isinstance(e.s.outlook, Done) or not e.s.looks:
        return
    for name in e.orders:
        memory = e.s.looks[-1].memory.cluster(name)
        lost = any(loss.concerns(name) for loss in e.s.losses)
        if lost or not memory.out or e.s.acts[-1].abort(name) is not None or e.s.acts[-1].suspended:
            continue
        standing = e.standing(name)
        standing.forward(len(e.servers[name]))
        for pool, body in standing.of("machineconfigpools").items():
            if {ABORT, BRACKET} & annotations_of(body).keys():
                e.fail(f"7: all is done, and pool {pool} of {name} is still stopped by us")


def pauses_for_an_abort(one: OurWrite) -> bool:
    """Whether a write pauses a pool because of an abort, and does nothing else."""
    return _abort_marks(one) == (False, True) and _paused(one.write.after)


def touches_an_abort(one: OurWrite) -> bool:
    """Whether it sets or takes off an abort's mark."""
    before, after = _abort_marks(one)
    return before != after


def _abort_marks(one: OurWrite) -> tuple[bool, bool]:
    if kind_of(one) != "machineconfigpools":
        return False, False
    before, after = (ABORT in annotations_of(body or {}) for body in (one.write.before, one.write.after))
    return before, after


def _paused(pool: JsonObject | None) -> bool:
    return bool(((pool or {}).get("spec") or {}).get("paused"))


def decided(e: Evidence) -> list[OurWrite]:
    """Writes of the pass that they are noted under; one that a dead process sent may have been decided before."""
    return [one for one in e.s.ours if not one.stray]
