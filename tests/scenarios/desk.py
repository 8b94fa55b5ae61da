"""What humans do to the memory while no process of ours runs: the acts of the command line, and the notes for the judge."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from gitops_mc.app.use_cases.forgetting import unmark
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import Content
from gitops_mc.core.rollout import acts
from gitops_mc.core.rollout.acts import ActResult, By
from gitops_mc.core.rollout.memory import FleetMemory
from gitops_mc.sandbox.apiserver import AcceptedWrite
from gitops_mc.sandbox.virtual import VirtualWorkers
from tests.scenarios.drawn import Aside, Event
from tests.scenarios.drawn_orders import Order, Ordered
from tests.scenarios.rollout_world import RolloutWorld


@dataclass(frozen=True, slots=True)
class Loss:
    """The memory of a cluster (`""`: of all) was lost, or dropped by an order, between two processes."""

    at: datetime
    passes: int
    """How many there had been: the next one is the first without the memory."""
    approvals: int
    cluster: str = ""

    def concerns(self, cluster: str) -> bool:
        return self.cluster in {"", cluster}


@dataclass(frozen=True, slots=True)
class Said:
    """An order that was carried out once, and has changed something. `cluster`: empty for all."""

    at: datetime
    what: Order
    cluster: str = ""

    def concerns(self, cluster: str) -> bool:
        return self.cluster in {"", cluster}


@dataclass(frozen=True, slots=True)
class Unmarked:
    """A write that was made because somebody forgets a cluster."""

    cluster: str
    write: AcceptedWrite


def asked_for(event: Event, memory: FleetMemory, content: Content, by: By) -> ActResult:
    """Release of everything, a skip for `content`, or an excuse."""
    match event.what:
        case Aside.RELEASE:
            return acts.release_all(memory, by)
        case Aside.SKIP:
            return acts.skip(memory, event.cluster, content, by)
        case _:
            until = by.at + timedelta(seconds=event.seconds)
            return acts.excuse(memory, event.cluster, event.subject, until, by)


def carried_out(order: Ordered, memory: FleetMemory, by: By) -> ActResult:
    """What an order that is given once does to the memory."""
    match order.what:
        case Order.ROLLBACK if not order.cluster:
            return acts.rollback_all(memory, by)
        case Order.ROLLBACK:
            return acts.rollback(memory, order.cluster, by)
        case Order.RETRY:
            return acts.retry(memory, order.cluster, by)
        case Order.RELEASE:
            return acts.release(memory, order.cluster, by)
        case Order.UNSKIP:
            return acts.unskip(memory, order.cluster, by)
        case _:
            return acts.forget(memory, order.cluster, by)


def marks_taken_off(world: RolloutWorld, cluster: str, fleet: str) -> bool:
    """Take our marks off a cluster, as `forget` does it first. False where it cannot be done: then nothing is forgotten."""
    executor = world.executor()
    session = Session(executor.api, executor.clock, VirtualWorkers(world.clock), executor)
    try:
        unmark(session, executor.memory(), cluster, fleet)
    except GitopsMcError:
        return False
    return True
