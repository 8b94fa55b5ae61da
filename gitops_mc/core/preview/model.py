"""The preview of a pull request: one value, in three parts that are kept apart, and rendered for every audience from here.

What the pull request changes is decided by Git alone, and is the same wherever it is made. What the clusters differ by already,
and what is under way, are facts with an age; without access to the clusters those parts are not there, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from gitops_mc.core.model import Commit, Problem
from gitops_mc.core.preview.changed import PullChanges
from gitops_mc.core.preview.hindrances import Drains, DrainsNotRead, UpgradePath
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.preview import FleetPreview

if TYPE_CHECKING:
    from gitops_mc.core.forecast.model import FleetForecast


@dataclass(frozen=True, slots=True)
class Revisions:
    """Which commits are compared."""

    base: Commit
    """Where the branch stands that is merged into."""
    head: Commit
    merge_base: Commit
    """What the pull request was made on: its changes are from here to head."""
    behind: int = 0
    """Commits that base is ahead of the merge base."""

    @property
    def moved(self) -> bool:
        """Whether base has moved since: what is merged is then not what stands at head."""
        return self.base != self.merge_base


# ------------------------------------------------------------------------------- (b) what differs, and (c) what happens


@dataclass(frozen=True, slots=True)
class UnderWay:
    """One cluster that is rolling, held, waiting or failed at this moment."""

    cluster: str
    standing: Standing
    reason: str
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class SoakingWave:
    """A wave whose clusters have all passed, and have to stay so for a while."""

    wave: str
    since: datetime
    soak: timedelta


@dataclass(frozen=True, slots=True)
class UnreadCluster:
    """A cluster of which something is not known."""

    cluster: str
    reason: str
    since: datetime


class AdviceKind(StrEnum):
    """In the order in which they are shown."""

    CANNOT_START = "cannot start"
    """A pool is degraded or paused, content is held, a limit is used up: merged now, it would not begin there."""
    HELD = "held"
    BASE_MOVED = "base moved"
    ROLLING = "rolling"
    WINDOW = "window"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Advice:
    """What the live fleet has to say about merging now."""

    kind: AdviceKind
    clusters: tuple[str, ...]
    told: str


@dataclass(frozen=True, slots=True)
class LivePreview:
    """Parts (b) and (c), and what merging comes to on the live fleet."""

    at: datetime
    """When the oldest of what was read was read."""
    outcome: FleetPreview
    """The merge result against the live clusters: what would be done, and to which nodes."""
    already: FleetPreview
    """Base as it stands now against the live clusters: what would be done without the pull request."""
    under_way: tuple[UnderWay, ...] = ()
    soaking: tuple[SoakingWave, ...] = ()
    """Of base, as it is remembered."""
    unread: tuple[UnreadCluster, ...] = ()
    drains: Mapping[str, Drains | DrainsNotRead] = field(default_factory=lambda: MappingProxyType({}))
    """By cluster, of those where a node is drained."""
    upgrades: Mapping[str, tuple[UpgradePath, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """By cluster."""
    advice: tuple[Advice, ...] = ()
    halted: str = ""
    """Why nothing new is written anywhere at this moment."""
    forecast: FleetForecast | None = None
    """How long what merging comes to takes, of the clusters that were looked at; None: that was not reckoned."""
    unasked: int = 0
    """Clusters of the fleet that nobody looked at, since nothing of them is changed. `already` and `under_way` say of them nothing, or
    what is remembered.
    """


@dataclass(frozen=True, slots=True)
class Conflict:
    """Base and head cannot be merged: what merging comes to nobody can say."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoLive:
    """Why nothing is said of the clusters: there is no access, or none is to be used for this pull request."""

    reason: str
    since: datetime | None = None
    """When somebody wanted to know, and could not; None: nobody asked."""


LivePart: TypeAlias = "LivePreview | NoLive | Conflict"


# ----------------------------------------------------------------------------------------------------------- the whole


class State(StrEnum):
    """What a check on the pull request shows."""

    OK = "ok"
    PROBLEMS = "problems"
    """An error in the input, a refusal, a conflict: merged so, something of it would not be carried out."""
    UNKNOWN = "unknown"
    """Something that decides was not read. Neither good nor bad."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reviewer reads first."""

    state: State
    line: str
    """One sentence that a person can act on."""
    reasons: tuple[str, ...] = ()
    """Up to two lines more: why, and what is in the way."""


@dataclass(frozen=True, slots=True)
class Preview:
    """All that is said of a pull request."""

    fleet: str
    """Name of the fleet; empty: none is named."""
    revisions: Revisions
    changes: PullChanges
    live: LivePart
    verdict: Verdict
    only_merged: tuple[Problem, ...] = ()
    """Errors that neither base nor head has, and what merging gives has, by place."""
