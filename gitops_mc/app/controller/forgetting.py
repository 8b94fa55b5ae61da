"""Forgetting clusters: our marks go first, then the object that remembers, then the memory. Nothing is ever deleted from a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from gitops_mc.app.act import take_marks_off
from gitops_mc.app.controller.lease import LeadershipLostError
from gitops_mc.app.controller.objects import FleetObjects
from gitops_mc.app.controller.orders import Desk
from gitops_mc.app.executor import Executor
from gitops_mc.app.observe import ClusterReader, Interest
from gitops_mc.app.permit import Permit
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import count, named
from gitops_mc.core.rollout.acts import Changed, Unchanged, forget
from gitops_mc.core.rollout.forgetting import left_paused, unmarking
from gitops_mc.core.rollout.memory import FleetMemory


@dataclass(frozen=True, slots=True)
class Undone:
    """It has to be tried again."""

    why: str


def forgotten(desk: Desk, objects: FleetObjects, executor: Executor, fleet: str) -> Desk:
    """The desk without the clusters that are to be forgotten. One whose marks could not be taken off (yet), or whose object could not
    be deleted, stays, and is tried again with the next pass; one that does not answer is forgotten all the same, for it may be gone
    for good: that is found out by a job of its own, and no pass waits for it.
    """
    permit = executor.permits.current
    jobs = {name: partial(_unmarked, desk.memory, executor, name, fleet, permit) for name in desk.forgotten}
    done: Mapping[str, tuple[str, ...] | Undone] = executor.asides(jobs)
    for cluster, by in desk.forgotten.items():
        told = done.get(cluster)
        if told is None or isinstance(told, Undone):
            desk = _undone(desk, cluster, "its marks are being taken off" if told is None else told.why)
            continue
        match forget(desk.memory, cluster, by):
            case Changed(memory, said):
                try:
                    objects.drop(cluster)
                except LeadershipLostError:
                    raise
                except GitopsMcError as error:
                    desk = _undone(desk, cluster, error.message)
                    continue
                desk = replace(desk, memory=memory, said=(*desk.said, *told, *said))
            case Unchanged(reason, _):
                desk = replace(desk, said=(*desk.said, f"forget: {reason}"))
    return desk


def _undone(desk: Desk, cluster: str, why: str) -> Desk:
    return replace(desk, undone={**desk.undone, cluster: why})


def _unmarked(
    memory: FleetMemory, executor: Executor, cluster: str, fleet: str, permit: Permit
) -> tuple[str, ...] | Undone:
    """What was done, in sentences, or why it has to be tried again. A job of the executor's workers. The cluster is looked at anew: what
    was seen last may be as old as its folder is gone from Git.
    """
    live = ClusterReader(executor.api, cluster, executor.clock).read(None, Interest())
    if live.dark is not None:
        return (f"{cluster} does not answer: our marks stay on what we wrote there",)
    move = unmarking(memory, cluster, live, fleet)
    told: list[str] = []
    if move is not None:
        outcome = take_marks_off(executor.api.under(permit), move)
        if outcome.trouble:
            return Undone(outcome.trouble)
        told.append(f"our marks are taken off {count(len(outcome.written), 'object')} of {cluster}")
    if paused := left_paused(live):
        told.append(f"{named('pool', paused)} of {cluster} stand paused by us: unpause by hand")
    return tuple(told)
