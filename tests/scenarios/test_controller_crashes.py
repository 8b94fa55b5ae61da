"""A process of the controller that dies at each of its writes, to clusters and to its own objects, and the one that follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pytest

from gitops_mc.app.ports import Request, Response, Transport
from gitops_mc.core.model import BRACKET_ANNOTATION, JsonObject, annotations_of
from gitops_mc.sandbox.faults import FaultId
from tests.scenarios.controller_world import ControllerWorld
from tests.scenarios.crashes import Killed, Moment
from tests.scenarios.rollout_world import UNIT, machine_config
from tests.scenarios.test_controller import BAD, GOOD, NAMES, done, pushed, reboots, three

AWAY = 70.0
"""Seconds until the next process has the lease."""
TOGETHER = "\n---\n".join(
    [machine_config("50-worker-a", a_service=UNIT), machine_config("51-worker-b", b_service=UNIT)]
)


class Mortal:
    """A transport that ends the process at one of its writes."""

    def __init__(self, inner: Transport, at: int, moment: Moment) -> None:
        self.inner, self.at, self.moment = inner, at, moment
        self.writes = 0

    def send(self, cluster: str, request: Request, *, timeout: float) -> Response:
        if request.method == "GET" or "/leases" in request.path:
            return self.inner.send(cluster, request, timeout=timeout)
        self.writes += 1
        if self.writes == self.at and self.moment is Moment.BEFORE:
            raise Killed
        answer = self.inner.send(cluster, request, timeout=timeout)
        if self.writes == self.at:
            raise Killed
        return answer


def first_rollout() -> ControllerWorld:
    return pushed(TOGETHER)


def repair() -> ControllerWorld:
    """A fleet that has halted, and whose repair has just been pushed."""
    world = pushed()
    replica = world.run(until=done)
    world.rollout.faults.set(FaultId.NODE_DEGRADED, marker="breaks")
    world.push(three(BAD))
    world.run(replica, until=lambda w: w.outlook() == "halted")
    replica.controller.leadership.give_up()
    world.push(three(GOOD))
    return world


def orders() -> ControllerWorld:
    """A fleet that has halted, which somebody releases and repairs."""
    world = repair()
    world.annotate("", "release", "{reason: the disks are new, by: mei}")
    world.annotate("edge-2", "skip", "not now")
    world.annotate("edge-2", "unskip", "now")
    return world


STORIES: Mapping[str, Callable[[], ControllerWorld]] = {
    "first rollout": first_rollout,
    "repair": repair,
    "orders": orders,
}


def end(world: ControllerWorld) -> JsonObject:
    """What has to be the same whoever died on the way."""
    pools = [
        pool for name in NAMES for pool in world.rollout.fleet.person(name).list_all("machineconfigpools")
    ]
    assert not any(BRACKET_ANNOTATION in annotations_of(pool) for pool in pools)
    assert not any(pool["spec"].get("paused") for pool in pools)
    return {
        "outlook": world.outlook(),
        "halt": world.fleet()["spec"].get("halt"),
        "reboots": reboots(world),
        "objects": {
            name: {
                "held": world.of(name)["spec"].get("held"),
                "hold": world.of(name)["spec"].get("hold"),
                "standing": world.standing(name),
                "inventory": [entry["name"] for entry in world.of(name)["status"]["memory"]["inventory"]],
                "step": world.of(name)["status"]["memory"].get("step"),
            }
            for name in NAMES
        },
    }


def played(story: str, at: int, moment: Moment) -> tuple[ControllerWorld, int]:
    """The world after a process died at its write `at` (none where it makes fewer), and its writes."""
    world = STORIES[story]()
    mortals: list[Mortal] = []

    def mortal(transport: Transport) -> Transport:
        mortals.append(Mortal(transport, at, moment))
        return mortals[-1]

    world.rollout.wrap = mortal
    settled: Callable[[ControllerWorld], bool] = partial(_settled, commit=world.git.head)
    try:
        world.run(until=settled)
    except Killed:
        world.rollout.wrap = lambda transport: transport
        world.rollout.clock.wait_for(AWAY)
        again = world.run(
            world.process("two"), hours=0.05
        )  # what is shown may be ahead of what the dead one has kept
        world.run(again, until=settled)
    return world, mortals[0].writes


def _settled(world: ControllerWorld, commit: str) -> bool:
    status = world.fleet().get("status") or {}
    return done(world) and status.get("source", {}).get("commit") == commit


def check(story: str, deaths: range) -> None:
    undisturbed, writes = played(story, 0, Moment.BEFORE)
    wanted = end(undisturbed)
    for at in deaths:
        for moment in Moment:
            if at <= writes:
                world, _ = played(story, at, moment)
                assert end(world) == wanted, f"{story}: died {moment.value} write {at} of {writes}"


@pytest.mark.parametrize("story", STORIES)
def test_a_process_that_dies_at_some_of_its_writes_changes_nothing_in_the_end(story: str) -> None:
    check(story, range(17, 60, 28))


@pytest.mark.slow
@pytest.mark.parametrize("first", [1, 4])
@pytest.mark.parametrize("story", STORIES)
def test_a_process_that_dies_at_a_third_of_its_writes_changes_nothing_in_the_end(
    story: str, first: int
) -> None:
    check(story, range(first, 150, 6))


if __name__ == "__main__":  # every write: python -m tests.scenarios.test_controller_crashes
    for each in STORIES:
        check(each, range(1, 150))
        print(f"{each}: every death is followed by the same end")  # noqa: T201 - a table for whoever runs it
