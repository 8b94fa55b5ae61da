"""How long a rollout will take, as a value: for the fleet, its waves and its clusters, with what it rests on.

All of it is "when nothing fails": failures, hands and outages are not forecast.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.paces import Work


@dataclass(frozen=True, slots=True)
class Spread:
    """A span of time that is not known exactly: half of the simulated rollouts stayed within `p50`, 19 of 20 within `p95`,
    and 1 of 20 within `p05`.
    """

    p05: timedelta
    p50: timedelta
    p95: timedelta


class Basis(StrEnum):
    """What a time was reckoned from."""

    HISTORY = "history"
    """What earlier rollouts of this fleet took."""
    SETTINGS = "settings"
    """gates.pool.perNode as fleet.yaml has it."""
    DEFAULT = "default"
    """gates.pool.perNode as it is where fleet.yaml says nothing of it."""
    LIMIT = "limit"
    """gates.module.timeout: how long it takes is not known, only how long it may."""
    KNOWN = "known"
    """The operator needs a minute at most for a node that neither reboots nor drains."""


@dataclass(frozen=True, slots=True)
class RestsOn:
    """Of one kind of work, what its time was reckoned from."""

    work: Work
    basis: Basis
    rollouts: int
    """Of history: how many steps of earlier rollouts it rests on, of this cluster and of the others."""
    told: str
    """In words: `nodes that reboot: 12 earlier steps`, `nodes that reboot: gates.pool.perNode (20m)`."""


@dataclass(frozen=True, slots=True)
class ClusterForecast:
    """When one cluster begins and ends. Where `no_time` says why not, the spans are None."""

    name: str
    wave: str
    """Empty: no wave takes it."""
    standing: Standing
    """Now."""
    start: Spread | None = None
    """From now, or, where the wave has `after`, from that approval."""
    end: Spread | None = None
    takes: Spread | None = None
    """From its start to its end, with what it waits for its own windows between steps."""
    no_time: str = ""
    """Why nobody can say when it begins or ends; empty where somebody can."""
    after: str = ""
    """The approval from which its start and end are counted; empty: from now."""
    needs: tuple[str, ...] = ()
    """Commands without which it does not begin; counted as if they were given at once."""
    windows: Spread | None = None
    """How much of the time it could already begin, or go on, it waits for its change windows; None: it has none."""
    untimed: tuple[str, ...] = ()
    """Modules of which nobody knows how long they take; each counts as something up to gates.module.timeout."""
    rests_on: tuple[RestsOn, ...] = ()
    works: bool = True
    """Whether anything is done: one that is as Git says begins and ends in the same moment."""


@dataclass(frozen=True, slots=True)
class WaveForecast:
    """When one wave opens and is done, its soak included. Where `no_time` says why not, the spans are None."""

    name: str
    clusters: tuple[ClusterForecast, ...]
    """In the order in which they come."""
    start: Spread | None = None
    """When it opens: from now, or from the approval in `after`."""
    end: Spread | None = None
    takes: Spread | None = None
    soak: timedelta = timedelta(0)
    """How much of `takes` is its soak."""
    approval: str = ""
    """The command that approves it, where it waits for that; empty where it does not."""
    after: str = ""
    """The approval from which start and end are counted, its own or that of a wave before; empty: from now."""
    no_time: str = ""
    """Why it does not open, or is never done, in the words of whoever keeps it."""


@dataclass(frozen=True, slots=True)
class FleetForecast:
    """How long the rollout takes when nothing fails, and in which order."""

    waves: tuple[WaveForecast, ...]
    homeless: tuple[ClusterForecast, ...]
    """Clusters that no wave takes."""
    takes: Spread | None
    """From now until all that has a time is done, soaks included; None: nothing has a time."""
    approvals: tuple[str, ...]
    """Commands that it waits for. `takes` counts each as given as soon as it can be; what people take comes on top."""
    first: tuple[str, ...]
    """Clusters that begin first, or are under way."""
    no_time: str
    """Why nothing at all has a time, or why it ends before all of it is done; empty: it is done then."""
    rests_on: tuple[RestsOn, ...]
    samples: int
    seed: int

    @property
    def clusters(self) -> tuple[ClusterForecast, ...]:
        return (*(c for wave in self.waves for c in wave.clusters), *self.homeless)

    @property
    def without_time(self) -> tuple[ClusterForecast, ...]:
        """Clusters of which nobody can say when they begin or end."""
        return tuple(c for c in self.clusters if c.no_time)
