"""Two processes of the controller: one acts, and the other takes over when it does not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

import pytest

from gitops_mc.app.controller.lease import LeadershipLostError
from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.errors import UnreachableError
from gitops_mc.core.model import GLOBAL_CLUSTER
from tests.scenarios.controller_world import ControllerWorld, ProcessEnded, Replica
from tests.scenarios.test_controller import GOOD, NAMES, done, pushed, reboots, three, wrote


def together(world: ControllerWorld, *replicas: Replica, hours: float) -> None:
    """Both processes go round, turn by turn."""
    clock = world.rollout.clock
    end = clock.now().timestamp() + hours * 3600
    while clock.now().timestamp() < end:
        for replica in replicas:
            if not replica.ended:
                replica.controller.tick()
        clock.wait(min(r.controller.next_turn() for r in replicas if not r.ended))


def test_of_two_processes_one_acts_and_the_other_waits() -> None:
    world = pushed()
    one, two = world.process("one"), world.process("two")
    together(world, one, two, hours=1)
    assert one.controller.leadership.leads
    assert not two.controller.leadership.leads
    assert two.controller.leadership.holder == "one"
    assert not two.heard.looks
    assert done(world)


@pytest.mark.parametrize(
    ("active", "left"), [("ours", {"gitops-mc.io/sync"}), ("", {"gitops-mc.io/sync"}), ("another", set())]
)
def test_a_push_that_a_standby_hears_of_is_handed_on_to_the_leader_of_this_installation_alone(
    active: str, left: set[str]
) -> None:
    world = pushed()
    one, two = world.process("one"), world.process("two")
    together(world, one, two, hours=0.2)
    standing = world.fleet()
    assert standing["spec"]["activeOn"] == two.controller.loops["prod"].means.identity
    if active != "ours":
        world.edit("", {"activeOn": active or None})
    before = set(world.fleet()["metadata"].get("annotations", {}))
    assert two.controller.wake("prod")
    two.controller.tick()
    assert set(world.fleet()["metadata"].get("annotations", {})) - before == left


def test_a_graceful_end_lets_the_next_one_in_at_once() -> None:
    world = pushed()
    one, two = world.process("one"), world.process("two")
    together(world, one, two, hours=0.05)
    one.controller.leadership.give_up()
    one.ended = True
    together(world, two, hours=10 / 3600)
    assert two.controller.leadership.leads


def test_after_a_death_the_next_one_takes_over_within_a_minute_and_goes_on() -> None:
    world = pushed()
    one, two = world.process("one"), world.process("two")
    together(world, one, two, hours=0.05)
    one.ended = True
    together(world, two, hours=65 / 3600)
    assert two.controller.leadership.leads
    together(world, two, hours=2)
    assert done(world)
    assert set(reboots(world).values()) == {1}


def test_a_leader_that_cannot_renew_ends_before_another_may_take_over() -> None:
    world = pushed()
    one = world.process("one")
    together(world, one, hours=0.01)
    one.controller.leadership.api = _Deaf(one.controller.leadership.api)  # type: ignore[assignment]
    with pytest.raises(LeadershipLostError):
        together(world, one, hours=1)
    lost = world.rollout.clock.now()
    renewed = world.kubectl("GET", _LEASE)["spec"]["renewTime"]
    assert lost.isoformat()[:19] < _later(renewed, 45)


_LEASE = "/apis/coordination.k8s.io/v1/namespaces/gitops-mc/leases/gitops-mc"


def _later(stamp: str, seconds: float) -> str:
    return (datetime.fromisoformat(stamp) + timedelta(seconds=seconds)).isoformat()[:19]


class _Deaf:
    """An API that answers nobody."""

    def __init__(self, inner: object) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Callable[..., object]:
        def silent(*_: object, **__: object) -> object:
            raise UnreachableError("no answer")

        return silent


class Frozen(Enum):
    """Where a process is stopped."""

    ON_ITS_WAY = "before the server has the call"
    ON_ITS_WAY_BACK = "before the answer is read"


@dataclass
class Freezing:
    """A transport in front of a process that is frozen at one of its writes: on the way there, or on the way back."""

    inner: Transport
    at: int
    where: Frozen
    meanwhile: Callable[[], None]
    writes: int = 0
    sent_after: list[Request] = field(default_factory=list)
    woken: bool = False

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if request.method == "GET" or "/leases" in request.path:
            return self.inner.send(cluster, request, timeout=timeout)
        if self.woken:
            self.sent_after.append(request)
        self.writes += 1
        if self.writes != self.at:
            return self.inner.send(cluster, request, timeout=timeout)
        if self.where is Frozen.ON_ITS_WAY:
            self.meanwhile()
            self.woken = True
            return self.inner.send(cluster, request, timeout=timeout)
        answer = self.inner.send(cluster, request, timeout=timeout)
        self.meanwhile()
        self.woken = True
        return answer


WRITES = [pytest.param(at, marks=() if at % 42 == 1 else pytest.mark.slow) for at in range(1, 100, 7)]


@pytest.mark.parametrize("at", WRITES)
@pytest.mark.parametrize("where", Frozen, ids=lambda where: where.name)
def test_a_leader_frozen_in_a_write_and_woken_after_another_took_over_does_no_harm(
    at: int, where: Frozen
) -> None:
    world = pushed()
    taken: list[Replica] = []
    log = world.rollout.fleet.servers
    touched: dict[tuple[str, str, str], int] = {}

    def others() -> None:
        """Another process leads, rolls newer content out, and is done."""
        world.rollout.wrap = lambda transport: transport
        world.push(three(GOOD))
        two = world.process("two")
        taken.append(two)
        clock = world.rollout.clock
        job, clock._account = clock._account, None  # the frozen job's own time stands still
        marks = {name: len(server.writes) for name, server in log.items()}
        together(world, two, hours=3)
        clock._account = job
        for name, server in log.items():
            for write in server.writes[marks[name] :]:
                if write.user == "gitops-mc":
                    touched[name, write.resource, write.name] = len(server.writes)

    freezing: list[Freezing] = []

    def wrap(transport: Transport) -> Transport:
        freezing.append(Freezing(transport, at, where, others))
        return freezing[-1]

    world.rollout.wrap = wrap
    one = world.process("one")
    with suppress(ProcessEnded, LeadershipLostError):
        together(world, one, hours=1)
    if not taken:
        pytest.skip(f"it makes fewer than {at} writes")
    assert not freezing[0].sent_after, [f"{r.method} {r.path}" for r in freezing[0].sent_after]
    for (server, resource, name), seen in touched.items():
        later = [
            w
            for w in log[server].writes[seen:]
            if w.user == "gitops-mc" and (w.resource, w.name) == (resource, name) and w.before is not None
        ]
        assert not later or (server == GLOBAL_CLUSTER and resource.startswith("leases")), (
            server,
            resource,
            name,
        )
    together(world, taken[0], hours=0.2)
    assert done(world)
    assert all(wrote(world, name, "three") for name in NAMES)


def test_a_namespace_that_is_not_there_is_told_until_it_is() -> None:
    world = pushed()
    replica = world.process()
    leadership = replica.controller.leadership
    leadership.namespace = "nope"
    together(world, replica, hours=0.02)
    assert not leadership.leads
    assert leadership.trouble.startswith("namespace nope is not there, so nobody can lead")
    assert "kubectl create namespace nope" in leadership.trouble
    world.kubectl("POST", "/api/v1/namespaces", {"metadata": {"name": "nope"}})
    together(world, replica, hours=0.02)
    assert (leadership.holder, leadership.trouble) == ("one", "")
