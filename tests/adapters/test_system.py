"""Real time and real threads, in as little real time as shows the point."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from gitops_mc.adapters.system import ScaledClock, SystemClock, ThreadWorkers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gitops_mc.app.ports import Clock

START = datetime(2026, 1, 1, tzinfo=UTC)
SOON = 5.0
"""Seconds within which anything here must have happened; nothing waits that long unless it is broken."""


def test_the_clock_is_aware_and_in_utc() -> None:
    for clock in (SystemClock(), ScaledClock(10)):
        assert clock.now().utcoffset() == timedelta(0)


def test_waiting_lasts_until_the_time_asked_for() -> None:
    clock = SystemClock()
    until = clock.now() + timedelta(milliseconds=30)
    clock.wait(until)
    assert clock.now() >= until


def test_a_clock_that_is_set_back_or_forward_never_makes_time_run_back() -> None:
    """Times that were noted lie in the past for whoever noted them; else all of them would be waited for anew."""
    set_to = START
    clock = SystemClock(machine=lambda: set_to)
    began = clock.now()
    set_to -= timedelta(hours=6)
    first, second = clock.now(), clock.now()
    assert began <= first <= second < began + timedelta(seconds=SOON)
    clock.wait(second + timedelta(milliseconds=20))
    assert second + timedelta(milliseconds=20) <= clock.now() < began + timedelta(seconds=SOON)
    set_to = START + timedelta(days=1)
    assert clock.now() == set_to


def test_a_time_that_has_passed_is_not_waited_for() -> None:
    began = time.monotonic()
    SystemClock().wait(START - timedelta(days=1))
    ScaledClock(0.001, start=START).wait(START - timedelta(days=1))
    assert time.monotonic() - began < 1


def test_scaled_time_runs_from_its_start_and_waits_really_sleep() -> None:
    clock = ScaledClock(3600, start=START)
    began = time.monotonic()
    clock.wait(START + timedelta(minutes=3))
    assert 0.04 < time.monotonic() - began < SOON
    assert START + timedelta(minutes=3) <= clock.now() < START + timedelta(hours=5)


@pytest.mark.parametrize("factor", [0, -1])
def test_time_does_not_stand_still_or_run_back(factor: float) -> None:
    with pytest.raises(ValueError, match="cannot run"):
        ScaledClock(factor)


@pytest.mark.parametrize("make", [SystemClock, lambda s: ScaledClock(1, stop=s)], ids=["real", "scaled"])
def test_a_stop_ends_a_wait_at_once(make: Callable[[threading.Event], Clock]) -> None:
    stop = threading.Event()
    clock = make(stop)
    threading.Timer(0.05, stop.set).start()
    began = time.monotonic()
    clock.wait(clock.now() + timedelta(hours=1))
    clock.wait(clock.now() + timedelta(hours=1))
    assert time.monotonic() - began < SOON


# ---------------------------------------------------------------------------------------------------------- workers


def test_what_is_finished_is_returned_errors_as_values() -> None:
    def broken() -> str:
        raise OSError("no route")

    found = ThreadWorkers(2).map({"b": broken, "a": lambda: "fine"}, within=SOON)
    assert list(found) == ["a", "b"]
    assert found["a"] == "fine"
    assert isinstance(found["b"], OSError)


def test_a_job_that_hangs_does_not_keep_the_others_and_comes_with_a_later_call() -> None:
    workers, release = ThreadWorkers(2), threading.Event()

    def dark() -> str:
        release.wait(SOON)
        return "late"

    first = dict(workers.map({"dark": dark, "well": lambda: "ok"}, within=0.05))
    while not first:  # a machine so busy that even the good job needs longer
        first = dict(workers.map({}, within=SOON))
    assert first == {"well": "ok"}
    assert workers.running() == {"dark"}
    began = time.monotonic()
    assert workers.map({"well": lambda: "again"}, within=SOON) == {"well": "again"}
    assert time.monotonic() - began < 1
    release.set()
    rest: Mapping[str, object] = workers.map({}, within=SOON)
    assert rest == {"dark": "late"}
    assert workers.running() == frozenset()


def test_a_key_that_runs_is_not_started_again() -> None:
    workers, release, runs = ThreadWorkers(4), threading.Event(), []

    def job() -> None:
        runs.append(1)
        release.wait(SOON)

    for _ in range(3):
        assert workers.map({"a": job}, within=0.02) == {}
    release.set()
    assert workers.map({"a": job}, within=SOON) == {"a": None}
    assert runs == [1]
    workers.map({"a": job}, within=SOON)
    assert runs == [1, 1]


def test_with_nothing_running_nothing_is_waited_for() -> None:
    began = time.monotonic()
    assert ThreadWorkers(1).map({}, within=SOON) == {}
    assert time.monotonic() - began < 1


def test_never_more_at_once_than_its_size_and_every_job_gets_its_turn() -> None:
    lock, now, most = threading.Lock(), 0, 0

    def job() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.002)
        with lock:
            now -= 1

    workers = ThreadWorkers(3)
    for _ in range(3):
        assert len(workers.map({str(n): job for n in range(20)}, within=SOON)) == 20
    assert most == 3


def test_closing_tells_what_still_runs_and_forgets_what_has_not_begun() -> None:
    workers, begun, release, runs = ThreadWorkers(1), threading.Event(), threading.Event(), []

    def dark() -> None:
        begun.set()
        release.wait(SOON)

    workers.map({"dark": dark, "waiting": lambda: runs.append(1)}, within=0.01)
    assert begun.wait(SOON)
    assert workers.close(within=0.05) == {"dark"}
    release.set()
    assert workers.close(within=SOON) == frozenset()
    assert runs == []
    with pytest.raises(RuntimeError, match="closed"):
        workers.map({}, within=0)


def test_closing_waits_for_what_ends_in_time() -> None:
    workers = ThreadWorkers(2)
    workers.map({"a": lambda: time.sleep(0.1)}, within=0.01)
    assert workers.close(within=SOON) == frozenset()


def test_a_process_ends_although_a_worker_hangs_on_a_dead_socket() -> None:
    code = (
        "import socket, threading\n"
        "from gitops_mc.adapters.system import ThreadWorkers\n"
        "a, b = socket.socketpair()\n"
        "begun = threading.Event()\n"
        "w = ThreadWorkers(1)\n"
        "w.map({'dark': lambda: (begun.set(), a.recv(1))}, within=0.01)\n"
        "begun.wait(10)\n"
        "print(sorted(w.close(within=0.05)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stdout == "['dark']\n"
