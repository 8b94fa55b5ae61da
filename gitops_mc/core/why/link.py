"""One link of the chain from a file in Git to the node that holds it up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import DesiredCluster, Place, ResourceKey
from gitops_mc.core.plan import ClusterPlan
from gitops_mc.core.rollout.driver import Driver
from gitops_mc.core.rollout.inputs import Fleet
from gitops_mc.core.rollout.memory import ClusterMemory, FleetMemory
from gitops_mc.core.rollout.moves import ClusterView, Decision, WaveView


class Subject(StrEnum):
    """What a link is about, from Git to the node."""

    GIT = "git"
    WAVE = "wave"
    DRIVER = "driver"
    HALT = "halt"
    BUDGET = "budget"
    WINDOW = "window"
    CLUSTER = "cluster"
    FAILURE = "failure"
    STEP = "step"
    REFUSAL = "refusal"
    DRIFT = "drift"
    GATE = "gate"
    POOL = "pool"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Link:
    """What is so, where in Git that comes from, and what to type about it."""

    subject: Subject
    told: str
    blocks: bool = False
    """Whether this is what holds it up, or a part of that."""
    places: tuple[Place, ...] = ()
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about, and everything that is known of it."""

    desired: DesiredCluster
    pool: str
    """Empty: the whole cluster."""
    fleet: Fleet
    memory: FleetMemory
    live: Mapping[str, LiveCluster]
    decision: Decision
    driver: Driver
    at: datetime | None = None
    """When it was looked; None: times from then on are not told."""

    @property
    def name(self) -> str:
        return self.desired.name

    @property
    def view(self) -> ClusterView:
        return next(c for c in self.decision.clusters if c.cluster == self.name)

    @property
    def wave(self) -> WaveView | None:
        """None: no wave takes the cluster."""
        return next((w for w in self.decision.waves if self.name in w.members), None)

    @property
    def remembered(self) -> ClusterMemory:
        return self.memory.cluster(self.name)

    @property
    def cluster(self) -> LiveCluster:
        return self.live[self.name]

    @property
    def plan(self) -> ClusterPlan | None:
        return self.view.plan

    def place(self, key: ResourceKey) -> tuple[Place, ...]:
        """Where in Git an object stands; nothing where it is gone from there."""
        manifest = self.desired.get(key)
        return () if manifest is None else (manifest.place,)
