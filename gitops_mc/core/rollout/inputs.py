"""What a pass starts from: Git, what was observed, and what a human has said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Commit, Content, DesiredCluster
from gitops_mc.core.policy import FleetPolicy
from gitops_mc.core.rollout.case import WriteFault
from gitops_mc.core.rollout.showing import Shown
from gitops_mc.core.rollout.windows import Rule, concerning


@dataclass(frozen=True, slots=True)
class Fleet:
    """What Git says, now and in the contents that clusters still stand at."""

    policy: FleetPolicy
    clusters: tuple[DesiredCluster, ...]
    commit: Commit
    contents: Mapping[str, Mapping[Content, DesiredCluster]] = field(default_factory=dict)
    """By cluster: earlier contents that could be fetched again. The newest need not be among them."""

    def windows(self, cluster: DesiredCluster) -> tuple[Rule, ...]:
        """The change windows and freezes that concern a cluster."""
        labels = cluster.labels or self.policy.cluster_labels.get(cluster.name, {})
        return concerning(self.policy.windows, cluster.name, labels)


@dataclass(frozen=True, slots=True)
class Abort:
    """No step begins, none is ended, and what we roll is stopped: its pools are paused and marked until this is taken back."""

    reason: str
    by: str = ""
    let_finish: bool = False
    """What rolls may roll to its end: no pool is paused."""


@dataclass(frozen=True, slots=True)
class Acts:
    """What a human has said for this run. Suspensions, holds and aborts stand: they are given again on every pass, and are
    over when they are given no more.
    """

    approved: frozenset[str] = frozenset()
    """Waves, and clusters, as somebody typed them."""
    approved_waves: frozenset[str] = frozenset()
    """Waves alone: a cluster that is called like one is not approved by it."""
    impatient: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    """Write for these clusters only; None: for all. It opens no wave earlier."""
    overriding: Mapping[str, str] = field(default_factory=dict)
    """Clusters whose change windows and freezes do not count, with who says so and why."""
    suspended: str = ""
    """Why nothing is written for anybody, not even to close a bracket, with who says so (`mei: storage is being moved`);
    empty: it is not suspended."""
    held: Mapping[str, str] = field(default_factory=dict)
    """By cluster: why no step begins there, with who says so. What is begun is ended."""
    aborted: Abort | None = None
    """For the whole fleet."""
    aborted_clusters: Mapping[str, Abort] = field(default_factory=dict)
    shown: Mapping[str, Shown] = field(default_factory=dict)
    """By cluster: what a preview has just shown of one of its contents."""

    def abort(self, cluster: str) -> Abort | None:
        """The abort that stands for a cluster; of two the one that stops more."""
        own = self.aborted_clusters.get(cluster)
        if own is None or self.aborted is None:
            return own or self.aborted
        return own if self.aborted.let_finish else self.aborted


@dataclass(frozen=True, slots=True)
class Observed:
    """What was read. A cluster without an entry has never been read."""

    live: Mapping[str, LiveCluster]
    busy: frozenset[str] = frozenset()
    """Clusters whose last job has not come back: nothing is decided for them."""
    faults: Mapping[str, WriteFault] = field(default_factory=dict)


NO_ACTS = Acts()


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass: its arguments, and the fault of the whole fleet, if there is one."""

    fleet: Fleet
    observed: Observed
    now: datetime
    acts: Acts
    fault: str

    def may_write(self, cluster: str) -> bool:
        """Whether a move for this cluster may be decided on now."""
        if self.fault or self.acts.suspended or self.acts.abort(cluster) is not None:
            return False
        return self.may_stop(cluster)

    def windows(self, cluster: DesiredCluster) -> tuple[Rule, ...]:
        """The change windows and freezes that count for a cluster now."""
        return () if cluster.name in self.acts.overriding else self.fleet.windows(cluster)

    def may_stop(self, cluster: str) -> bool:
        """Whether its pools may be paused because of an abort: nothing but a job that has not come back is in the way."""
        if cluster in self.observed.busy:
            return False
        return self.acts.only is None or cluster in self.acts.only
