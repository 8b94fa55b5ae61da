"""What the story of the command line is played on: an embedded fleet in this process, and a Git repository."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from gitops_mc.adapters.git_commits import CommittedRepository
from gitops_mc.adapters.memory import FileMemory
from gitops_mc.adapters.system import ScaledClock, ThreadWorkers
from gitops_mc.app.api import ClusterApi
from gitops_mc.app.executor import Executor
from gitops_mc.app.looks import Pace
from gitops_mc.app.use_cases.demo.stage import Stage
from gitops_mc.app.use_cases.demo.story import BAD_LINE, INSTALLED_BY_HAND, NEWCOMER
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.app.use_cases.repository import past_contents
from gitops_mc.bootstrap import CALLS_AT_ONCE, open_repository
from gitops_mc.sandbox import demo_fleet
from gitops_mc.sandbox.running import run_in_thread
from gitops_mc.sandbox.witness import NodeWitness


@contextmanager
def demo_stage(folder: Path, speed: float) -> Iterator[Stage]:
    """An embedded fleet on a clock that runs `speed` times as fast, and a Git repository in `folder`, until the end of
    the `with`. The fleet's nodes fail on the story's bad line.
    """
    stop = threading.Event()
    clock = ScaledClock(speed, stop=stop)
    fleet = demo_fleet.build(clock.now, INSTALLED_BY_HAND, NEWCOMER, BAD_LINE)
    committed = CommittedRepository(folder / "fleet.git")
    repository = open_repository(str(folder / "fleet.git"))
    workers = ThreadWorkers(CALLS_AT_ONCE)
    api = ClusterApi(fleet.transport(clock), clock, jitter=random.Random(0).random)  # noqa: S311 - spreads retries
    thread = run_in_thread(fleet, clock, stop)
    try:
        with FileMemory(folder / "state.json") as store:
            past = past_contents(repository.source)
            executor = Executor(api, clock, workers, store, pace=Pace(every=timedelta(seconds=5)), past=past)
            yield Stage(
                session=Session(api, clock, workers, executor),
                nodes={name: len(fleet.nodes(name)) for name in fleet.servers},
                repository=repository,
                commit=lambda files, message: committed.commit(files, message, clock.now()),
                notes=NodeWitness(fleet).notes,
                writes=lambda: {name: len(fleet.writes(name)) for name in fleet.servers},
            )
    finally:
        stop.set()
        workers.close()
        thread.join()
