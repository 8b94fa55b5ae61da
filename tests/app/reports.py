"""Asking the application about a fleet on virtual time: how it stands, why, and whether it is fit."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_mc.app.api import ClusterApi
from gitops_mc.app.doctor import examine_fleet
from gitops_mc.app.use_cases.planning import Session
from gitops_mc.app.use_cases.standing import Standing, stand
from gitops_mc.core.doctor import Finding, examine
from gitops_mc.core.render.lines import text_of
from gitops_mc.core.render.why import why_text
from gitops_mc.core.rollout.driver import Driver
from gitops_mc.core.why import Link, Question, commands, why
from gitops_mc.sandbox.virtual import VirtualWorkers
from tests.scenarios.rollout_world import RolloutWorld


def session(world: RolloutWorld) -> Session:
    executor = world.executor()
    return Session(executor.api, executor.clock, executor.workers, executor)


def standing(world: RolloutWorld) -> Standing:
    return stand(session(world), world.git())


class Answer:
    """What `why` says."""

    def __init__(
        self, world: RolloutWorld, cluster: str, pool: str = "", driver: Driver = Driver.NOBODY
    ) -> None:
        found = standing(world)
        desired = next(c for c in found.fleet.clusters if c.name == cluster)
        question = Question(
            desired, pool, found.fleet, found.memory, found.live, found.decision, driver, found.at
        )
        self.links: tuple[Link, ...] = why(question)
        self.text = text_of(why_text(question, self.links))
        self.commands = commands(self.links)

    def blocking(self) -> str:
        return "\n".join(f"{link.subject.value} {link.told}" for link in self.links if link.blocks)


def examined(
    world: RolloutWorld, *clusters: str, token: str = "", wanted: Mapping[str, str] | None = None
) -> dict[str, tuple[Finding, ...]]:
    """What the doctor finds, by cluster; global is always among them."""
    api = ClusterApi(world.fleet.transport(world.clock, token=token), world.clock, jitter=lambda: 0.5)
    found = examine_fleet(api, world.clock, VirtualWorkers(world.clock), clusters, wanted or {})
    return {x.name: examine(x) for x in found}
