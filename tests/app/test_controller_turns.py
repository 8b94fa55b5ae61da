"""A push is noticed at once, whichever thread brings it, and whatever the loop is at."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from gitops_mc.app.controller.running import Controller
from tests.scenarios.controller_world import ControllerWorld
from tests.scenarios.test_controller import done, pushed


@dataclass
class Napping:
    """A clock on which somebody pushes while the loop rests."""

    at: datetime = datetime(2026, 1, 5, tzinfo=UTC)
    naps: list[timedelta] = field(default_factory=list)
    pushes_at: int = 3
    controller: Controller | None = None

    def now(self) -> datetime:
        return self.at

    def wait(self, until: datetime) -> None:
        self.naps.append(until - self.at)
        self.at = max(self.at, until)
        if len(self.naps) == self.pushes_at and self.controller is not None:
            assert self.controller.wake("prod")


def resting(world: ControllerWorld) -> tuple[Controller, Napping]:
    controller = world.run(until=done).controller
    clock = Napping(controller.clock.now())
    clock.controller = controller
    controller.clock = clock
    return controller, clock


def test_a_push_ends_the_rest() -> None:
    controller, clock = resting(pushed())
    began = clock.at
    controller._rest(began + timedelta(seconds=30), lambda: False)
    assert len(clock.naps) == clock.pushes_at
    assert clock.at - began < timedelta(seconds=1)


def test_without_a_push_it_rests_until_its_time_and_not_beyond() -> None:
    controller, clock = resting(pushed())
    clock.controller = None
    began = clock.at
    controller._rest(began + timedelta(seconds=2), lambda: False)
    assert clock.at == began + timedelta(seconds=2)


def test_pushes_from_many_threads_break_no_turn() -> None:
    world = pushed()
    replica = world.run(until=done)
    stop = threading.Event()

    def push() -> None:
        while not stop.is_set():
            replica.controller.wake(random.choice(["prod", "nobody"]))

    threads = [threading.Thread(target=push) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        world.run(replica, hours=0.2)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not replica.controller.wake("nobody")
    assert not replica.heard.errors


class Hanging:
    """What is left of a loop when the end is asked for: a call that takes all the time that it gets."""

    def __init__(self, clock: Napping) -> None:
        self.clock = clock

    def close(self, *, within: float) -> None:
        self.clock.at += timedelta(seconds=within)


def test_however_many_loops_hang_the_end_takes_no_longer() -> None:
    controller, clock = resting(pushed())
    controller.loops = {f"fleet-{n}": Hanging(clock) for n in range(20)}  # type: ignore[misc]
    began = clock.at
    controller.run(lambda: True)
    assert clock.at - began <= timedelta(seconds=3.5)
    assert not controller.leadership.leads
