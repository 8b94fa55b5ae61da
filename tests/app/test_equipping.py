"""What a Fleet's loop works with, while its source is edited and the server of the one before hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from gitops_mc.adapters.system import ThreadWorkers
from gitops_mc.app.controller.equipping import Equipment
from gitops_mc.app.controller.sources import Poller
from gitops_mc.app.executor import Executor
from gitops_mc.core.custom.fleet_spec import FleetSpec, fleet_spec
from gitops_mc.core.errors import UsageError
from gitops_mc.core.rollout.memory import NO_COMMIT
from gitops_mc.sandbox.virtual import VirtualClock
from tests.scenarios.pushed import Server


@dataclass
class Repositories:
    """The means of one Fleet: repositories whose servers hang until they are let go, and no way to any cluster."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    identity: str = "here"
    asked: dict[str, threading.Event] = field(default_factory=dict)
    answers: dict[str, threading.Event] = field(default_factory=dict)

    def poller(self, spec: FleetSpec) -> Poller:
        url = spec.source.url
        asked, answers = (
            self.asked.setdefault(url, threading.Event()),
            self.answers.setdefault(url, threading.Event()),
        )

        def hang() -> None:
            asked.set()
            assert answers.wait(30)

        server = Server(before=hang)
        server.push({"README.md": url})
        return Poller(server.clone(), spec.source.interval, self.clock, ThreadWorkers(1), lambda: 0.5)

    def executor(self, spec: FleetSpec) -> Executor:
        raise UsageError(f"no cluster of {spec.name} is reached here")

    def tend(self, spec: FleetSpec) -> None:
        pass

    def close(self) -> None:
        pass


def following(name: str) -> FleetSpec:
    source = {"url": f"https://git.example/{name}.git"}
    return fleet_spec({"metadata": {"name": "prod", "namespace": "gitops-mc"}, "spec": {"source": source}})


@pytest.fixture
def repositories() -> Iterator[Repositories]:
    made = Repositories()
    yield made
    for event in made.answers.values():
        event.set()


def test_a_source_that_is_edited_and_edited_back_waits_for_every_poll_that_still_hangs(
    repositories: Repositories,
) -> None:
    """Both are about one folder: the second one may not ask before the first one has let it go."""
    equipment = Equipment(repositories, repositories.clock)
    equipment.prepare(following("a"), NO_COMMIT)
    first = equipment.following()
    assert first is not None
    first.look(frozenset())
    assert repositories.asked["https://git.example/a.git"].wait(30)
    for name in ("b", "a"):
        equipment.prepare(following(name), NO_COMMIT)
    assert equipment.poller is not first
    assert equipment.following() is None
    repositories.answers["https://git.example/a.git"].set()
    first.workers.close(within=30)
    assert equipment.following() is equipment.poller
