"""Forgetting a cluster that can be reached: our marks go first, the memory after them."""

from __future__ import annotations

from gitops_mc.app.act import take_marks_off
from gitops_mc.app.observe import ClusterReader, Interest
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import count, named
from gitops_mc.core.rollout.forgetting import left_paused, unmarking
from gitops_mc.core.rollout.memory import FleetMemory

_WITHOUT = "without a connection only the memory is dropped: leave --gateway and --kubeconfig out"


def unmark(session: Session, memory: FleetMemory, cluster: str, fleet: str) -> tuple[str, ...]:
    """Take our label and annotation off what we wrote on a cluster; what was done, in sentences. Raises GitopsMcError where
    it cannot be read, or an object cannot be written: then nothing is to be forgotten yet.
    """
    live = ClusterReader(session.api, cluster, session.clock).read(None, Interest())
    if live.dark is not None:
        raise GitopsMcError(f"{cluster} cannot be read: {live.dark.reason}", hint=_WITHOUT)
    move = unmarking(memory, cluster, live, fleet)
    told = []
    if move is not None:
        outcome = take_marks_off(session.api, move)
        if outcome.trouble:
            raise GitopsMcError(outcome.trouble, hint="try again; what was done stays done")
        told.append(f"our marks are taken off {count(len(outcome.written), 'object')} of {cluster}")
    if paused := left_paused(live):
        told.append(f"{named('pool', paused)} of {cluster} stand paused by us: unpause by hand")
    return tuple(told)
