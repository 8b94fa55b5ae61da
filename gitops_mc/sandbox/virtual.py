"""Virtual time: a clock that moves only when somebody waits, and workers that run their jobs on it without threads.

`VirtualClock.wait` runs what the fleet has due, in the order of time, up to the moment that is waited for. Inside a
job of `VirtualWorkers` waiting costs that job alone: it has an account of its own, and the world stands still until
the jobs of that call have been run. So a cluster whose calls time out delays no other, and every run is the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")

DEFAULT_START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
"""A Monday morning; any time does."""


class Stepper(Protocol):
    """What lives on the clock: does what is due and answers when it is next to be called."""

    def step(self, now: datetime) -> datetime: ...


class VirtualClock:
    """A Clock port on virtual time."""

    def __init__(self, start: datetime = DEFAULT_START) -> None:
        self._now = start
        self._account: timedelta | None = None
        self._steppers: list[Stepper] = []

    def now(self) -> datetime:
        return self._now + (self._account or timedelta())

    def drive(self, stepper: Stepper) -> None:
        """From now on, waiting runs this too."""
        self._steppers.append(stepper)

    def wait(self, until: datetime) -> None:
        if self._account is not None:
            self._account = max(self._account, until - self._now)
            return
        while True:
            due = min((s.step(self._now) for s in self._steppers), default=until)
            if due > until or self._now >= until:
                break
            self._now = max(self._now, due)
        self._now = max(self._now, until)

    def wait_for(self, seconds: float) -> None:
        """Wait so many seconds from now."""
        self.wait(self.now() + timedelta(seconds=seconds))

    def account(self, job: Callable[[], T]) -> tuple[T | BaseException, datetime]:
        """Run a job on an account of its own: its value or its exception, and the time at which it ended.

        An exception outside `Exception`, which stands for the end of the process, is not caught.
        """
        assert self._account is None, "a job does not start jobs"
        self._account = timedelta()
        try:
            result: T | BaseException = job()
        except Exception as error:  # noqa: BLE001 - the Workers port hands every error of a job to its caller
            result = error
        finally:
            spent, self._account = self._account, None
        return result, self._now + spent


@dataclass(frozen=True, slots=True)
class _Running(Generic[T]):
    result: T | BaseException
    end: datetime


class VirtualWorkers:
    """A Workers port on a virtual clock.

    Each job runs at once, in the order of the keys, or in an order drawn from `seed`. Its result is handed out by the
    first call of `map` that returns at or after the time at which the job ended on its own account. A call waits for
    the jobs it has started itself; if it has started none, for the first of those still running.
    """

    def __init__(self, clock: VirtualClock, *, seed: int | None = None) -> None:
        self._clock = clock
        self._random = None if seed is None else random.Random(seed)  # noqa: S311 - an order, not a secret
        self._jobs: dict[str, _Running[object]] = {}

    def map(self, jobs: Mapping[str, Callable[[], T]], *, within: float) -> Mapping[str, T | BaseException]:
        start = self._clock.now()
        keys = sorted(jobs)
        if self._random is not None:
            self._random.shuffle(keys)
        started = [key for key in keys if key not in self._jobs]
        for key in started:
            self._jobs[key] = _Running(*self._clock.account(jobs[key]))
        if started:
            enough = max(self._jobs[key].end for key in started)
        else:
            enough = min((job.end for job in self._jobs.values()), default=start)
        until = min(enough, start + timedelta(seconds=within))
        if until > start:
            self._clock.wait(until)
        done = sorted(key for key, job in self._jobs.items() if job.end <= self._clock.now())
        # a caller uses one type of job per key, so what comes back is what it handed in
        return {key: self._jobs.pop(key).result for key in done}  # type: ignore[misc]

    def running(self) -> frozenset[str]:
        return frozenset(self._jobs)

    def close(self, *, within: float = 0.0) -> frozenset[str]:  # noqa: ARG002 - the port's signature
        """Nothing is waited for: every job has done its work by now, though the end of some is still to come."""
        return frozenset(key for key, job in self._jobs.items() if job.end > self._clock.now())
