"""What deliberate faults of the controller are found by, where no other scenario does it: the narrow moments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pytest

from gitops_mc.app.controller.lease import LeadershipLostError
from gitops_mc.app.controller.sources import Poller
from gitops_mc.app.ports import MERGE_PATCH, Request, Response, Transport
from gitops_mc.core.model import Commit
from gitops_mc.sandbox.virtual import VirtualClock, VirtualWorkers
from tests.scenarios.controller_world import FLEETS, ROLLOUTS, ControllerWorld, ProcessEnded
from tests.scenarios.crashes import Killed
from tests.scenarios.pushed import Clone, Server
from tests.scenarios.rollout_world import FLEET
from tests.scenarios.test_controller import ASKING, CONFIG, NAMES, done, failed, pushed, three


@dataclass
class Tapped:
    """A transport with somebody who may do something before and after each call."""

    inner: Transport
    before: Callable[[Request], None] = lambda _request: None
    after: Callable[[Request], None] = lambda _request: None

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        self.before(request)
        answer = self.inner.send(cluster, request, timeout=timeout)
        self.after(request)
        return answer


def _writes_own(request: Request) -> bool:
    return request.method == "PATCH" and "/gitops-mc.io/" in request.path


def test_a_death_between_what_came_of_a_request_and_its_end_loses_nothing() -> None:
    """Skip: what comes of it stands in spec and in the history; the request is taken off last."""
    world = failed()
    asked = "gitops-mc.io/release"
    world.annotate("", "release", "{reason: the disks are new, by: mei}")

    def die_once_it_is_off(_request: Request) -> None:
        if asked not in str(world.fleet()["metadata"].get("annotations")):
            raise Killed

    world.rollout.wrap = lambda transport: Tapped(transport, after=die_once_it_is_off)
    with pytest.raises(Killed):
        world.run(world.process("one"), hours=1)
    assert [act["by" if "by" in act else "who"] for act in world.fleet()["status"].get("history", [])] == [
        "mei"
    ]


@pytest.mark.parametrize("nth", range(1, 8))
def test_an_order_that_comes_between_a_look_and_its_keeping_is_not_written_over(nth: int) -> None:
    """Suspended after the look that decided a write, and before what it decided was kept: the write is not made."""
    world = pushed()
    patches = 0
    written: list[int] = []

    def suspend(request: Request) -> None:
        nonlocal patches
        patches += request.method == "PATCH" and "/fleets/prod" in request.path
        if patches == nth and not written:
            written.append(sum(len(world.rollout.writes(name)) for name in NAMES))
            world.edit("", {"suspend": True})

    world.rollout.wrap = lambda transport: Tapped(transport, before=suspend)
    world.run(hours=0.2)
    assert written == [sum(len(world.rollout.writes(name)) for name in NAMES)]


def every_order_between_a_look_and_its_keeping() -> None:
    for nth in range(1, 8):
        test_an_order_that_comes_between_a_look_and_its_keeping_is_not_written_over(nth)


def test_what_is_held_stands_in_spec_after_a_backup_without_status() -> None:
    world = failed()
    held, halt = world.of("edge-1")["spec"]["held"], world.fleet()["spec"]["halt"]
    for path in (f"{FLEETS}/prod/status", *(f"{ROLLOUTS}/{name}/status" for name in NAMES)):
        world.kubectl("PATCH", path, {"status": None}, MERGE_PATCH)
    world.run(hours=0.5)
    assert world.of("edge-1")["spec"]["held"] == held
    assert world.fleet()["spec"]["halt"] == halt


def test_a_leader_that_is_slow_sends_nothing_once_its_time_is_over() -> None:
    """A call that took longer than the Lease holds: the next write is not sent, though the Lease has not been looked at since."""
    world = pushed()
    late: list[Request] = []
    slept = False

    def sleep(request: Request) -> None:
        nonlocal slept
        if "/leases" in request.path:
            return
        if slept and request.method != "GET":
            late.append(request)
        if not slept and _writes_own(request) and "/clusterrollouts/" in request.path:
            slept = True
            world.rollout.clock.wait_for(60)

    world.rollout.wrap = lambda transport: Tapped(transport, before=sleep)
    with pytest.raises((ProcessEnded, LeadershipLostError)):
        world.run(world.process("one"), hours=1)
    assert not late


def test_the_time_that_a_renewal_takes_counts_against_the_leader() -> None:
    world = pushed()
    slow: list[str] = []

    def answered(request: Request) -> None:
        if slow and "/leases" in request.path and request.method == "PATCH":
            world.rollout.clock.wait_for(15)

    world.rollout.wrap = lambda transport: Tapped(transport, after=answered)
    replica = world.process("one")
    world.run(replica, hours=0.01)
    lease = replica.controller.leadership
    slow.append("from now on")
    world.rollout.clock.wait_for(9)
    asked = world.rollout.clock.now()
    lease.tick()
    world.rollout.clock.wait(asked + lease.terms.deadline)
    assert not lease.may_write()


@dataclass
class Slow:
    """A repository that takes half a minute to answer, with what it had when it was asked."""

    inner: Clone
    clock: VirtualClock

    def poll(self, wanted: frozenset[Commit] = frozenset()) -> object:
        answer = self.inner.poll(wanted)
        self.clock.wait_for(30)
        return answer

    def tree(self, revision: str | None = None) -> object:
        return self.inner.tree(revision)

    def leave(self) -> None:
        self.inner.leave()


def test_a_push_that_comes_while_the_repository_is_read_is_not_missed() -> None:
    server, clock = Server(), VirtualClock()
    server.push({"fleet.yaml": FLEET, **three()})
    poller = Poller(
        Slow(server.clone(), clock),  # type: ignore[arg-type]
        timedelta(hours=1),
        clock,
        VirtualWorkers(clock),
        lambda: 0.5,
    )
    poller.look(frozenset())
    clock.wait_for(10)
    commit = server.push({"fleet.yaml": FLEET, **three(CONFIG, **{"README.md": "new\n"})})
    poller.wake()
    for _ in range(30):
        poller.look(frozenset())
        clock.wait_for(5)
    assert poller.pulled.commit == commit


def test_an_approval_that_is_taken_back_in_spec_opens_no_wave() -> None:
    world = pushed(fleet=ASKING)
    replica = world.run(until=lambda w: bool(w.rollout.writes("edge-1")))
    world.annotate("", "approve", "{wave: rest}")
    world.run(replica, hours=1, until=lambda w: bool(w.fleet()["spec"].get("approvals")))
    world.edit("", {"approvals": None})
    world.run(replica, hours=2)
    assert world.standing("edge-1") == "passed"
    assert not world.rollout.writes("edge-2")
    assert world.outlook() == "hold"


def test_resume_ends_an_abort() -> None:
    world = ControllerWorld()
    world.push(three())
    replica = world.run(until=lambda w: bool(w.rollout.writes("edge-1")))
    world.annotate("", "abort", "not today")
    world.run(replica, hours=0.2)
    assert world.fleet()["spec"]["abort"]["reason"] == "not today"
    world.annotate("", "resume", "today after all")
    world.run(replica, hours=3, until=done)
    assert "abort" not in world.fleet()["spec"]
