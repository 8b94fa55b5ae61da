"""What humans do to the memory while no process of ours runs: the acts of the command line, and the notes for the judge."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from gitops_mc.app.use_cases.forgetting import unmark
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.core.errors import GitopsMcError
from gitops_mc.core.model import Content
from gitops_mc.core.rollout import acts
from gitops_mc.core.rollout.acts import ActResult, By, Changed, moment
from gitops_mc.core.rollout.memory import FleetMemory, to_json
from gitops_mc.sandbox.apiserver import AcceptedWrite
from gitops_mc.sandbox.virtual import VirtualWorkers
from tests.scenarios.drawn import Aside, Event
from tests.scenarios.drawn_orders import Order, Ordered
from tests.scenarios.rollout_world import RolloutWorld

if TYPE_CHECKING:
    from tests.scenarios.simulation import Simulation


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


def sit_down(s: Simulation, desk: list[Event | Ordered]) -> None:
    """What humans do while no process of ours runs."""
    for what in desk:
        now = s.world.clock.now()
        match what:
            case Ordered():
                _carry_out(s, what, now)
            case Event(what=Aside.APPROVE):
                s.approvals.append((now, s.head))
                s.approved = s.names | {w.name for w in s.head.policy.rollout.waves or ()}
                s.pardons.append(now)
            case Event(what=Aside.MEMORY_LOST):
                s.world.store.state = None
                s.approved = frozenset()
                s.losses.append(Loss(now, len(s.looks), len(s.approvals)))
                s.pardons.append(now)
            case Event():
                _act(s, what, now)


def _act(s: Simulation, event: Event, now: datetime) -> None:
    content = next((c.content for c in s.head.clusters if c.name == event.cluster), Content(""))
    memory = s.world.executor().memory()
    if event.what is Aside.RELEASE:
        s.pardons.append(now)
    elif event.what is Aside.EXCUSE:
        until = now + timedelta(seconds=event.seconds)
        s.excused.append((event.cluster, event.subject, now, until))
    _kept(s, _asked_for(event, memory, content, _by(s, now)))


def _by(s: Simulation, now: datetime) -> By:
    return By("somebody", moment(s.world.executor().memory(), now + s.world.shift), "drawn")


def _kept(s: Simulation, result: ActResult) -> bool:
    if not isinstance(result, Changed):
        return False
    s.world.store.save(to_json(result.memory))
    return True


def _carry_out(s: Simulation, order: Ordered, now: datetime) -> None:
    if order.what is Order.FORGET and not _unmark(s, order.cluster):
        return
    if not _kept(s, _carried_out(order, s.world.executor().memory(), _by(s, now))):
        return
    s.said.append(Said(now, order.what, order.cluster))
    if order.what in {Order.FORGET, Order.DROP}:
        s.approved -= {order.cluster}
        s.losses.append(Loss(now, len(s.looks), len(s.approvals), order.cluster))


def _unmark(s: Simulation, cluster: str) -> bool:
    """Whether it went through. What it writes is no pass's, and noted apart."""
    s.forgetting.add(cluster)
    s.note_late(cluster)
    s.world.wrap = lambda transport: transport
    done = _marks_taken_off(s.world, cluster, s.head.policy.name)
    s.unmarked += [Unmarked(cluster, write) for write in s.fresh(cluster)]
    return done


def _asked_for(event: Event, memory: FleetMemory, content: Content, by: By) -> ActResult:
    """Release of everything, a skip for `content`, or an excuse."""
    match event.what:
        case Aside.RELEASE:
            return acts.release_all(memory, by)
        case Aside.SKIP:
            return acts.skip(memory, event.cluster, content, by)
        case _:
            until = by.at + timedelta(seconds=event.seconds)
            return acts.excuse(memory, event.cluster, event.subject, until, by)


def _carried_out(order: Ordered, memory: FleetMemory, by: By) -> ActResult:
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


def _marks_taken_off(world: RolloutWorld, cluster: str, fleet: str) -> bool:
    """Take our marks off a cluster, as `forget` does it first. False where it cannot be done: then nothing is forgotten."""
    executor = world.executor()
    session = Session(executor.api, executor.clock, VirtualWorkers(world.clock), executor)
    try:
        unmark(session, executor.memory(), cluster, fleet)
    except GitopsMcError:
        return False
    return True
