"""The demo's stage on virtual time: the same story, engine and fleet, without threads, the same in every run."""

from __future__ import annotations

import random
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from gitops_mc.adapters.git_commits import CommittedRepository
from gitops_mc.app.api import ClusterApi
from gitops_mc.app.executor import Executor
from gitops_mc.app.looks import Pace
from gitops_mc.app.use_cases.demo.play import Performance
from gitops_mc.app.use_cases.demo.stage import Stage
from gitops_mc.app.use_cases.demo.story import BAD_LINE, INSTALLED_BY_HAND, NEWCOMER, STORY, first_files
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.app.use_cases.repository import past_contents
from gitops_mc.bootstrap import example_files, open_repository
from gitops_mc.sandbox import demo_fleet
from gitops_mc.sandbox.fleet import SandboxFleet
from gitops_mc.sandbox.virtual import VirtualClock, VirtualWorkers
from gitops_mc.sandbox.witness import NodeWitness
from tests.scenarios.rollout_world import KeptMemory

PACE = Pace(every=timedelta(seconds=10))
"""Half as often as the demo itself, to be quick."""


def virtual_stage(folder: Path, unforgiven: str = BAD_LINE) -> tuple[Stage, SandboxFleet]:
    """As `bootstrap.demo_stage`; `unforgiven` is what the nodes fail on."""
    clock = VirtualClock()
    fleet = demo_fleet.build(clock.now, INSTALLED_BY_HAND, NEWCOMER, unforgiven)
    clock.drive(fleet)
    committed = CommittedRepository(folder / "fleet.git")
    repository = open_repository(str(folder / "fleet.git"))
    workers = VirtualWorkers(clock)
    api = ClusterApi(fleet.transport(clock), clock, jitter=random.Random(0).random)
    executor = Executor(api, clock, workers, KeptMemory(), pace=PACE, past=past_contents(repository.source))
    stage = Stage(
        session=Session(api, clock, workers, executor),
        nodes={name: len(fleet.nodes(name)) for name in fleet.servers},
        repository=repository,
        commit=lambda files, message: committed.commit(files, message, clock.now()),
        notes=NodeWitness(fleet).notes,
        writes=lambda: {name: len(fleet.writes(name)) for name in fleet.servers},
    )
    return stage, fleet


@cache
def played() -> tuple[Performance, SandboxFleet, str]:
    """The whole story, once in a process: what became of it, the fleet, and every line."""
    with TemporaryDirectory() as folder:
        stage, fleet = virtual_stage(Path(folder))
        show = Performance(stage, first_files(example_files()))
        text = "".join(f"{line.text}\n" for line in show.lines(STORY))
    return show, fleet, text
