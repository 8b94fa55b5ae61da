"""The preview of a pull request: one value, in three parts that are kept apart, and rendered for every audience from here.

What the pull request changes is decided by Git alone, and is the same wherever it is made. What the clusters differ by already,
and what is under way, are facts with an age; without access to the clusters those parts are not there, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from gitops_mc.core.disruption import Action, Disruption
from gitops_mc.core.ignition import Entry, EntryChange
from gitops_mc.core.model import Commit, Manifest, Place, Problem, ResourceKey
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


# ------------------------------------------------------------------------------------------------- (a) what is changed


class ChangeOf(StrEnum):
    """What becomes of an object, a cluster, a module."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """One manifest that the pull request adds, changes or removes, as it is for one cluster."""

    key: ResourceKey
    change: ChangeOf
    before: Manifest | None
    after: Manifest | None
    kept: str = ""
    """Of a removed one: why it stays on the cluster, and what it says stays in force; empty: it is deleted there."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A config that has a say in an entry, and where it stands in Git."""

    config: str
    place: Place | None = None
    """None: Git does not have it any more."""


@dataclass(frozen=True, slots=True)
class PoolEntry:
    """One entry of a pool's effective config that the pull request changes."""

    change: EntryChange
    decides: Origin
    """The config whose word is the last one; of a removed entry, whose it was. Places are those of the entry itself."""
    others: tuple[Origin, ...] = ()
    """Further configs that something in the result comes from."""
    overridden: tuple[Origin, ...] = ()
    """Configs that declare it, and of which nothing is left."""
    rule: str = ""
    """What decides what happens on a node: a policy entry, or a default."""
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class Inert:
    """An entry that changes on the node while nothing there takes it up."""

    entry: Entry
    place: Place | None
    reason: str
    paste: str
    """The policy entry that would make it effective, as YAML for the manifest of the MachineConfiguration."""


@dataclass(frozen=True, slots=True)
class WithoutEffect:
    """A config that the pull request adds or changes, and that changes nothing in a pool that selects it."""

    config: Origin
    reason: str


@dataclass(frozen=True, slots=True)
class PoolChange:
    """What the pull request does to one pool, as far as Git says."""

    pool: str
    entries: tuple[PoolEntry, ...]
    disruption: Disruption
    """Of a node that stands at the configs of the merge base, by the policy that Git says."""
    revert: Disruption
    """What going back would do to it."""
    configs: tuple[Origin, ...] = ()
    """All that the pool merges after it, in merge order."""
    without_effect: tuple[WithoutEffect, ...] = ()
    inert: tuple[Inert, ...] = ()
    order_matters: bool = False
    """Whether the result depends on the merge order of the cluster's operator. Shown is what comes of the order by name."""
    comes_from: str = ""
    """Of a pool that is new: the pool that its nodes are taken to come from, and what is said here is said of such a node."""
    paused: bool = False
    """Whether its manifest holds it at head: nothing of this reaches a node until that goes."""


@dataclass(frozen=True, slots=True)
class ModuleChange:
    """What the pull request does to a module of one cluster."""

    module: str
    change: ChangeOf
    before: str
    """Version; empty where it was not there."""
    after: str
    config: bool
    """Whether anything but the version changes."""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One setting of fleet.yaml; a value that is not set is empty."""

    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """What the pull request does to one cluster."""

    name: str
    wave: str
    """At head; empty: no wave takes it."""
    membership: ChangeOf
    """ADDED or REMOVED: its folder comes or goes; else CHANGED."""
    objects: tuple[ObjectChange, ...] = ()
    pools: tuple[PoolChange, ...] = ()
    modules: tuple[ModuleChange, ...] = ()
    unselected: tuple[WithoutEffect, ...] = ()
    """Configs that come or change, and that no pool known from Git selects."""
    refused: tuple[str, ...] = ()
    """Why it would not be carried out as it stands, as far as Git alone says: limits on what goes at once. The plan on the live
    cluster says the same, and more.
    """
    blocked: tuple[Problem, ...] = ()
    """Errors at head that touch it: nothing of it is carried out, so nothing is said of its pools. What blocks the whole fleet is
    not told here once more.
    """
    moved_from: str | None = None
    """The wave it was in before, where that is another one."""

    @property
    def content_changes(self) -> bool:
        """Whether anything of it is written, were it all allowed."""
        return any(not found.kept for found in self.objects)


@dataclass(frozen=True, slots=True)
class PullChanges:
    """Part (a): what the pull request changes. Merge base against head; no clock and no cluster has a part in it."""

    clusters: tuple[ClusterChange, ...]
    """Those that are touched, in the order in which the waves of head take them."""
    untouched: int
    """Clusters that are not."""
    settings: tuple[SettingChange, ...] = ()
    """None where a fleet.yaml cannot be read: see the problems."""
    new_problems: tuple[Problem, ...] = ()
    """Errors and warnings that head has and the merge base has not, by place."""
    old_problems: tuple[Problem, ...] = ()
    """Those that both have."""
    solved: tuple[Problem, ...] = ()
    """Those that the merge base alone has."""
    fleet_blocked: bool = False
    """Head's fleet.yaml has an error: the whole fleet stays where it is."""
    base_blocked: bool = False
    """That of the merge base has one: who has what by it cannot be told, so neither can what changes. No cluster is named then."""


# --------------------------------------------------------------------------------------- what hinders, on the clusters


@dataclass(frozen=True, slots=True)
class Hindrance:
    """What is in the way of draining a node, or needs a second look before it is drained."""

    node: str
    kind: HindranceKind
    subject: str
    """`namespace/name` of the budget, the workload, the pod."""
    told: str
    """One sentence with numbers and what to do."""


class HindranceKind(StrEnum):
    BUDGET = "budget"
    """A PodDisruptionBudget that allows no disruption now: the drain would wait."""
    SINGLE = "single replica"
    """The only replica of its workload runs there."""
    QUORUM = "quorum member"
    """One of few replicas that vote (etcd, a StatefulSet with an odd handful): another one gone, and it stops."""
    BARE = "bare pod"
    """Nobody makes it anew; a drain without force refuses it."""
    LOCAL = "local data"
    """It keeps data in an emptyDir, which a drain throws away."""


@dataclass(frozen=True, slots=True)
class NodeNote:
    """What a reviewer should know of nodes besides what happens to them."""

    nodes: tuple[str, ...]
    told: str
    """For instance that they are of the control plane, or in no pool and so untouched."""


@dataclass(frozen=True, slots=True)
class Drains:
    """What was found on the nodes of one cluster that are drained, the most important first."""

    at: datetime
    hindrances: tuple[Hindrance, ...]
    notes: tuple[NodeNote, ...] = ()
    left_out: int = 0
    """Hindrances that were found beyond these."""


@dataclass(frozen=True, slots=True)
class DrainsNotRead:
    """Why nobody knows what is in the way of the drains; never that nothing is."""

    reason: str
    since: datetime
    notes: tuple[NodeNote, ...] = ()
    """What the nodes alone say."""


@dataclass(frozen=True, slots=True)
class UpgradePath:
    """How a module gets from the version that is live to the one that is wanted, or why there is no way."""

    module: str
    live: str
    """Empty: it is not installed."""
    wanted: str
    steps: tuple[str, ...]
    """Versions to be taken one after the other, the wanted one last; empty: no way is known."""
    told: tuple[str, ...] = ()
    """What is in the way, and what is to be known: dependencies, upgradeBefore, risk level, life cycle."""
    blocked: bool = False
    """It cannot be carried out as it stands."""
    unknown: str = ""
    """What was not read, so that nobody knows whether there is a way; empty: it was all read."""


# ------------------------------------------------------------------------------- (b) what differs, and (c) what happens


@dataclass(frozen=True, slots=True)
class UnderWay:
    """One cluster that is rolling, held, waiting or failed at this moment."""

    cluster: str
    standing: Standing
    reason: str
    since: datetime | None = None


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
