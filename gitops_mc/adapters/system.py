"""Real time and real threads: the only place, beside the sockets of the transports, where this product blocks."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")

_LOOK_AT_THE_CLOCK = 30.0
"""Seconds of one sleep at most: a machine that was asleep, or whose clock was set, is noticed after that."""


class SystemClock:
    """The machine's time, but never running back: where that is set back, time goes on from where it was.

    Once `stop` is set `wait` returns at once, for a graceful stop: its caller looks at `stop`.
    """

    def __init__(
        self,
        stop: threading.Event | None = None,
        *,
        machine: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._stop = stop or threading.Event()
        self._machine = machine
        self._lock = threading.Lock()
        self._anchor = (machine(), time.monotonic())

    def now(self) -> datetime:
        with self._lock:
            since, begun = self._anchor
            passed = time.monotonic()
            steady = since + timedelta(seconds=passed - begun)
            said = self._machine()
            if said < steady:
                return steady
            self._anchor = (said, passed)
            return said

    def wait(self, until: datetime) -> None:
        """Until `now` says `until`, but never longer than it is from now."""
        left = (until - self.now()).total_seconds()
        end = time.monotonic() + left
        while left > 0 and not self._stop.wait(min(left, _LOOK_AT_THE_CLOCK)):
            left = min((until - self.now()).total_seconds(), end - time.monotonic())


class ScaledClock:
    """Time that starts at `start` (now, if not given) and runs `factor` times as fast as the machine's.

    `wait` really sleeps, scaled; once `stop` is set it returns at once.
    """

    def __init__(
        self, factor: float, *, start: datetime | None = None, stop: threading.Event | None = None
    ) -> None:
        if factor <= 0:
            raise ValueError(f"time cannot run {factor} times as fast")
        self._factor = factor
        self._start = start or datetime.now(UTC)
        self._origin = time.monotonic()
        self._stop = stop or threading.Event()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=(time.monotonic() - self._origin) * self._factor)

    def wait(self, until: datetime) -> None:
        while (left := (until - self.now()).total_seconds()) > 0:
            if self._stop.wait(left / self._factor):
                return


@dataclass(frozen=True, slots=True)
class _Job:
    key: str
    run: Callable[[], Any]


class ThreadWorkers:
    """The Workers port on at most `size` daemon threads, started as they are needed.

    `within` is in real seconds. A call waits for the jobs it has started itself; if it has started none, for the first of
    those still running. So a job that hangs delays the call that started it, and no later one.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise ValueError("at least one worker")
        self._size = size
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._running: set[str] = set()
        """Keys waiting for a thread, on one, or finished and not returned yet."""
        self._finished: dict[str, Any] = {}
        self._threads: list[threading.Thread] = []
        self._idle = 0
        """Threads without a job, less the jobs that wait for one."""
        self._closed = False

    def map(self, jobs: Mapping[str, Callable[[], T]], *, within: float) -> Mapping[str, T | BaseException]:
        """As the port promises. RuntimeError after `close`."""
        end = time.monotonic() + within
        with self._changed:
            if self._closed:
                raise RuntimeError("the workers have been closed")
            started = {key for key in jobs if key not in self._running}
            for key in jobs:
                if key in started:
                    self._start(_Job(key, jobs[key]))
            while not self._enough(started) and (left := end - time.monotonic()) > 0 and not self._closed:
                self._changed.wait(left)
            done = dict(sorted(self._finished.items()))
            self._finished.clear()
            self._running -= done.keys()
        return done

    def running(self) -> frozenset[str]:
        with self._changed:
            return frozenset(self._running)

    def close(self, *, within: float = 0.0) -> frozenset[str]:
        """Start nothing more, forget what has not begun, and wait at most `within` seconds for what has.

        Returns the keys of the jobs that still run: their threads die with the process, on a dead socket or not.
        """
        end = time.monotonic() + within
        with self._changed:
            self._closed = True
            self._forget_waiting()
            for _ in self._threads:
                self._jobs.put(None)
            self._changed.notify_all()
            while self._running - self._finished.keys() and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)
            return frozenset(self._running - self._finished.keys())

    def _enough(self, started: set[str]) -> bool:
        if started:
            return started <= self._finished.keys()
        return bool(self._finished) or not self._running

    def _start(self, job: _Job) -> None:
        self._running.add(job.key)
        self._jobs.put(job)
        self._idle -= 1
        if self._idle < 0 and len(self._threads) < self._size:
            thread = threading.Thread(target=self._work, name=f"worker-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            self._idle += 1
            thread.start()

    def _forget_waiting(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None:
                self._running.discard(job.key)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            outcome: Any
            try:
                outcome = job.run()
            except BaseException as error:  # noqa: BLE001 - whatever it was is the job's result, the caller judges it
                outcome = error
            with self._changed:
                self._finished[job.key] = outcome
                self._idle += 1
                self._changed.notify_all()
