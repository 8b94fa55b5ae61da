"""What a pass starts from: Git, what was observed, and what a human has said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import Commit, Content, DesiredCluster
from gitops_mc.core.policy import FleetPolicy
from gitops_mc.core.rollout.case import WriteFault


@dataclass(frozen=True, slots=True)
class Fleet:
    """What Git says, now and in the contents that clusters still stand at."""

    policy: FleetPolicy
    clusters: tuple[DesiredCluster, ...]
    commit: Commit
    contents: Mapping[str, Mapping[Content, DesiredCluster]] = field(default_factory=dict)
    """By cluster: earlier contents that could be fetched again. The newest need not be among them."""


@dataclass(frozen=True, slots=True)
class Acts:
    """What a human has said for this run."""

    approved: frozenset[str] = frozenset()
    """Waves, and clusters met for the first time."""
    impatient: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    """Write for these clusters only; None: for all. It opens no wave earlier."""


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
        if self.fault or cluster in self.observed.busy:
            return False
        return self.acts.only is None or cluster in self.acts.only
