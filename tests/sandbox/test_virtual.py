from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from gitops_mc.sandbox.faults import FOREVER
from gitops_mc.sandbox.virtual import VirtualClock, VirtualWorkers


class Ticking:
    """Due at set seconds after the start; notes when it was stepped."""

    def __init__(self, clock: VirtualClock, *seconds: float) -> None:
        self._start = clock.now()
        self._due = [self._start + timedelta(seconds=s) for s in seconds]
        self.seen: list[float] = []

    def step(self, now: datetime) -> datetime:
        while self._due and self._due[0] <= now:
            self._due.pop(0)
            self.seen.append((now - self._start).total_seconds())
        return self._due[0] if self._due else FOREVER


def at(clock: VirtualClock, seconds: float) -> datetime:
    return clock.now() + timedelta(seconds=seconds)


def test_waiting_runs_what_is_due_at_its_time_and_nothing_after_it() -> None:
    clock = VirtualClock()
    first, second = Ticking(clock, 1, 5, 11), Ticking(clock, 3)
    clock.drive(first)
    clock.drive(second)
    until = at(clock, 10)
    clock.wait(until)
    assert clock.now() == until
    assert (first.seen, second.seen) == ([1, 5], [3])


def test_waiting_for_the_past_returns_at_once() -> None:
    clock = VirtualClock()
    start = clock.now()
    clock.wait(start - timedelta(hours=1))
    assert clock.now() == start


class Jobs:
    def __init__(self, seed: int | None = None) -> None:
        self.clock = VirtualClock()
        self.start = self.clock.now()
        self.workers = VirtualWorkers(self.clock, seed=seed)
        self.order: list[str] = []

    def seconds(self) -> float:
        return (self.clock.now() - self.start).total_seconds()

    def lasting(self, name: str, seconds: float) -> Callable[[], float]:
        def job() -> float:
            self.order.append(name)
            self.clock.wait(at(self.clock, seconds))
            return self.seconds()

        return job

    def batch(self, **seconds: float) -> dict[str, Callable[[], float]]:
        return {name: self.lasting(name, length) for name, length in seconds.items()}


def test_jobs_run_side_by_side_and_each_sees_its_own_time() -> None:
    jobs = Jobs()
    assert jobs.workers.map(jobs.batch(a=2, b=3, c=0), within=10) == {"a": 2, "b": 3, "c": 0}
    assert jobs.seconds() == 3


def test_a_slow_job_is_handed_out_by_a_later_call_and_delays_no_other() -> None:
    jobs = Jobs()
    assert jobs.workers.map(jobs.batch(dark=10, quick=1), within=2) == {"quick": 1}
    assert jobs.seconds() == 2
    assert jobs.workers.running() == {"dark"}
    assert jobs.workers.map(jobs.batch(dark=10, quick=1), within=2) == {"quick": 3}
    assert jobs.seconds() == 3
    assert jobs.order == ["dark", "quick", "quick"]
    assert jobs.workers.map(jobs.batch(), within=60) == {"dark": 10}
    assert jobs.seconds() == 10
    assert jobs.workers.running() == frozenset()


def test_a_call_that_starts_nothing_waits_for_the_first_job_only() -> None:
    jobs = Jobs()
    assert jobs.workers.map(jobs.batch(slow=8, slower=20), within=1) == {}
    assert jobs.workers.map(jobs.batch(), within=60) == {"slow": 8}
    assert jobs.seconds() == 8
    assert jobs.workers.running() == {"slower"}


def test_the_world_goes_on_while_the_longest_job_is_waited_for() -> None:
    jobs = Jobs()
    world = Ticking(jobs.clock, 1, 4)
    jobs.clock.drive(world)
    jobs.workers.map(jobs.batch(a=5), within=10)
    assert world.seen == [1, 4]


def test_an_error_is_the_result_of_its_job_and_the_end_of_the_process_is_not() -> None:
    jobs = Jobs()

    def broken() -> float:
        raise ValueError("no")

    def killed() -> float:
        raise KeyboardInterrupt

    results = jobs.workers.map({"bad": broken, **jobs.batch(good=0)}, within=1)
    assert isinstance(results["bad"], ValueError)
    assert results["good"] == 0
    with pytest.raises(KeyboardInterrupt):
        jobs.workers.map({"bad": killed}, within=1)
    assert jobs.workers.map(jobs.batch(good=0), within=1) == {"good": 0}


def test_jobs_run_in_the_order_of_their_keys_or_as_the_seed_says() -> None:
    def order(seed: int | None) -> list[str]:
        jobs = Jobs(seed)
        jobs.workers.map(jobs.batch(c=0, a=0, b=0, e=0, d=0), within=1)
        return jobs.order

    assert order(None) == ["a", "b", "c", "d", "e"]
    assert order(7) == order(7)
    assert len({tuple(order(seed)) for seed in range(10)}) > 3
