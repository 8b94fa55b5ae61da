"""What a pull request changes, as a value: part (a) of a preview, decided by Git alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gitops_mc.core.disruption import Action, Disruption
from gitops_mc.core.ignition import Entry, EntryChange
from gitops_mc.core.model import Manifest, Place, Problem, ResourceKey

if TYPE_CHECKING:
    pass


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
