"""What live state cannot say, and nothing else: admissions, clocks, holds, approvals, what we last wrote.

A plan is never in here: it is made again on every pass from the assigned content and the live state. Losing the
memory means first contact, which asks a human before it changes anything; it never means "nothing is held".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from enum import StrEnum

import msgspec

from gitops_mc.core.diff import Written
from gitops_mc.core.errors import MemoryStoreError
from gitops_mc.core.gates import ModuleClocks, PoolClocks
from gitops_mc.core.ignition import MergeOrder
from gitops_mc.core.model import Commit, Content, JsonObject, Kind, ResourceKey
from gitops_mc.core.policy import Prune
from gitops_mc.core.remembered import Remembered
from gitops_mc.core.rollout.paces import Pace, Roll
from gitops_mc.core.rollout.showing import Demand, Shown

MEMORY_VERSION = 1
NO_COMMIT = Commit("")


@dataclass(frozen=True, slots=True)
class InventoryEntry:
    """An object we wrote for a cluster. Only what stands in the inventory may ever be deleted."""

    kind: Kind
    name: str
    """As in the ResourceKey: a module's name, not its object's."""
    written: Written

    def key(self, cluster: str) -> ResourceKey:
        return ResourceKey(cluster, self.kind, self.name)


@dataclass(frozen=True, slots=True)
class ObjectName:
    """An object of a cluster, without the cluster."""

    kind: Kind
    name: str

    def key(self, cluster: str) -> ResourceKey:
        return ResourceKey(cluster, self.kind, self.name)


@dataclass(frozen=True, slots=True)
class StepIntent:
    """Remembered before the first write of a step, forgotten when the step has been read back and its pools freed."""

    content: Content
    step: str
    pools: tuple[str, ...]
    at: datetime


class FailureCause(StrEnum):
    CONFIG = "config"
    """A pool degraded or stalled with our content."""
    MODULE = "module"
    """A module, policy or component gate past its time-out."""
    FOREIGN = "foreign"
    """A pool fails for what is not of the content: drift on a node, or somebody else's config. No other content mends that."""
    REFUSED = "refused"
    """The server refuses a write."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A cluster failed with a content. `subjects` is a digest of the desired part of each thing that failed."""

    content: Content
    cause: FailureCause
    reason: str
    at: datetime
    subjects: Mapping[str, str]
    """`pool:<name>`, `module:<name>`, `policy`, `object:<kind>/<name>` -> digest of what Git wants for it; a newer
    content repairs the failure only if one of them differs, else it inherits it."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """The way back to content that a cluster passed, after newer content failed there. Until newer content that changes what
    failed, or a human, the failed content is held.
    """

    failed: Failure
    failed_commit: Commit
    to: Content
    to_commit: Commit
    at: datetime
    by: str = ""
    """Who asked for it; empty: fleet.yaml (onFailure)."""


@dataclass(frozen=True, slots=True)
class Excuse:
    """A node a human has excused from its pool's gate, why and until when."""

    node: str
    reason: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Leave:
    """What a human allows one content of a cluster, and no other one; with who says so, and why."""

    content: Content
    by: str
    at: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ClusterMemory:
    """What is remembered of one cluster."""

    started: Content | None = None
    """The content it was last admitted with."""
    started_commit: Commit = NO_COMMIT
    admitted_at: datetime | None = None
    begun: bool = False
    """A write for `started` has been intended: from here on its pools' trouble is ours."""
    passed: Content | None = None
    passed_commit: Commit = NO_COMMIT
    passed_at: datetime | None = None
    passed_prune: str = ""
    """Prune settings it passed with, or was looked at with since; others make it delete what they let go."""
    before: Content | None = None
    """What it had passed before `passed`, and has not failed with: the way back from what fails in its soak."""
    before_commit: Commit = NO_COMMIT
    failure: Failure | None = None
    rollback: Rollback | None = None
    """It is to be rolled back, is on its way back, or stands at what it was rolled back to."""
    retrying: bool = False
    """A human has let what failed be tried once more: written through a halt, until it passes or fails."""
    step: StepIntent | None = None
    inventory: tuple[InventoryEntry, ...] = ()
    created: tuple[ObjectName, ...] = ()
    """Objects that `started` made, remembered before they are made; its revert removes them without prune."""
    changed: tuple[ObjectName, ...] = ()
    """Objects that were written, or were to be, since it last passed and soaked: it does neither while one of them is not as
    it was written."""
    touched: tuple[str, ...] = ()
    """Pools that writes of `started` have touched, remembered before they are made: they gate it, come what may."""
    overtaken: tuple[str, ...] = ()
    """Pools whose trouble did not keep `started` out when it took over, since it changes what they suffer from: what is
    still to be written to them does not wait for them, and what they suffer from until then is not its failure.
    """
    pool_clocks: Mapping[str, PoolClocks] = field(default_factory=dict)
    module_clocks: Mapping[str, ModuleClocks] = field(default_factory=dict)
    gate_since: Mapping[str, datetime] = field(default_factory=dict)
    """Since when the policy and component gates have been waited for."""
    spec_hashes: Mapping[str, str] = field(default_factory=dict)
    """status.specHash of a module before our write."""
    merge_order: str | None = None
    dark_since: datetime | None = None
    approved: Content | None = None
    """First contact with this content was approved by a human."""
    skipped: Content | None = None
    excused: tuple[Excuse, ...] = ()
    accepted: tuple[str, ...] = ()
    """Ids of gate findings a human accepted."""
    hurried: Leave | None = None
    """This content need not wait until what rolls healthily has settled; over once it has been started."""
    overridden: Leave | None = None
    """Change windows and freezes do not count for this content; over once it has passed."""
    shown: tuple[Shown, ...] = ()
    """What previews have shown of contents that may come, oldest first."""
    rolls: Mapping[str, Roll] = field(default_factory=dict)
    """Work that is under way and timed: `pool/<name>`, `module/<name>`."""
    paces: tuple[Pace, ...] = ()
    """How long work took here that nothing has disturbed, oldest first; for forecasts alone."""

    def written(self, cluster: str) -> Mapping[ResourceKey, Written]:
        """The inventory by key."""
        return _WRITTEN.get(
            (self.inventory,),
            (cluster,),
            lambda: {entry.key(cluster): entry.written for entry in self.inventory},
        )

    @property
    def out(self) -> bool:
        """Every gate has opened with the content that was started last, since it was started last: a content that
        passed once, and is started again by a revert, has to pass again.
        """
        since, at = self.admitted_at, self.passed_at
        return (
            self.started is not None
            and self.started == self.passed
            and at is not None
            and (since is None or at >= since)
        )

    @property
    def repairing(self) -> bool:
        """A newer content than the one that failed has been started."""
        return self.failure is not None and self.failure.content != self.started

    @property
    def rolled_back(self) -> bool:
        """What it was started with last, it was given by a rollback."""
        return self.rollback is not None and self.started == self.rollback.to

    @property
    def held(self) -> tuple[Failure, ...]:
        """Failures whose contents are held here: its own, and that which it was rolled back from."""
        rolled = None if self.rollback is None else self.rollback.failed
        found = (self.failure, None if rolled == self.failure else rolled)
        return tuple(f for f in found if f is not None)

    @property
    def stands_at(self) -> tuple[tuple[Content, Commit], ...]:
        """Contents that are needed to go on, or back, with the commits they were seen at."""
        found = (
            (self.started, self.started_commit),
            (self.passed, self.passed_commit),
            (self.before, self.before_commit),
            (None, NO_COMMIT)
            if self.rollback is None
            else (self.rollback.failed.content, self.rollback.failed_commit),
        )
        return tuple((content, commit) for content, commit in found if content is not None)

    def mends(self, pool: str) -> bool:
        """Whether the content that was started is to put right what a pool suffers from."""
        return self.repairing or pool in self.overtaken

    def excused_nodes(self, now: datetime) -> frozenset[str]:
        return frozenset(e.node for e in self.excused if e.until > now)


_WRITTEN: Remembered[Mapping[ResourceKey, Written]] = Remembered()


@dataclass(frozen=True, slots=True)
class WaveMemory:
    """Approval and soak of a wave, both bound to the contents of its clusters."""

    contents: str
    """Digest of the wave's clusters and their contents; another one ends approval and soak, even back."""
    approved: bool = False
    soak_since: datetime | None = None
    soaked: bool | None = None
    """The soak was over once, and nothing has ended it since. None: a former release, which did not say."""


@dataclass(frozen=True, slots=True)
class Halt:
    """No new writes anywhere, but for repairs of what failed; until those have passed, or a human releases it."""

    reason: str
    since: datetime
    clusters: tuple[str, ...]
    """Those that failed and have not passed with newer content since; it ends when none is left."""


@dataclass(frozen=True, slots=True)
class PruneLimits:
    """The prune settings in force, and those of the commit before: a loosened limit holds from the next commit on."""

    commit: Commit
    enabled: bool
    max_deletes: int
    before_enabled: bool
    before_max_deletes: int


@dataclass(frozen=True, slots=True)
class Act:
    """What a human did to the memory, for whoever asks later."""

    at: datetime
    who: str
    what: str
    """As a command, without the program's name: `skip edge-1`."""
    why: str = ""


KEPT_ACTS = 200
"""The last ones are kept; no memory may outgrow its store."""


@dataclass(frozen=True, slots=True)
class FleetMemory:
    """The memory of one fleet."""

    version: int = MEMORY_VERSION
    clusters: Mapping[str, ClusterMemory] = field(default_factory=dict)
    waves: Mapping[str, WaveMemory] = field(default_factory=dict)
    halt: Halt | None = None
    prune: PruneLimits | None = None
    previews: Demand | None = None
    clock: datetime | None = None
    """When it was last saved: clocks do not run while nobody watches."""
    acts: tuple[Act, ...] = ()
    """What humans did, oldest first; the last KEPT_ACTS of them."""

    def cluster(self, name: str) -> ClusterMemory:
        return self.clusters.get(name, ClusterMemory())

    def with_cluster(self, name: str, memory: ClusterMemory) -> FleetMemory:
        return self.with_clusters({name: memory})

    def with_clusters(self, memories: Mapping[str, ClusterMemory]) -> FleetMemory:
        known = {**self.clusters, **memories}
        return replace(
            self, clusters=known if len(known) == len(self.clusters) else dict(sorted(known.items()))
        )

    def without_cluster(self, name: str) -> FleetMemory:
        return replace(self, clusters={n: m for n, m in self.clusters.items() if n != name})

    def with_act(self, act: Act) -> FleetMemory:
        return replace(self, acts=(*self.acts, act)[-KEPT_ACTS:])

    def with_wave(self, name: str, memory: WaveMemory) -> FleetMemory:
        return replace(self, waves={**self.waves, name: memory})


def without_clocks(memory: FleetMemory) -> FleetMemory:
    """The memory but for the clocks that move on every pass: what has to be durable at once."""
    clusters = {
        name: replace(m, pool_clocks={}, module_clocks={}, gate_since={})
        for name, m in memory.clusters.items()
    }
    return replace(memory, clusters=clusters, clock=None)


def prune_in_force(memory: FleetMemory) -> Prune:
    """The limits that hold now: the tighter of what this commit says and what the one before it said."""
    limits = memory.prune
    if limits is None:
        return Prune()
    return Prune(
        enabled=limits.enabled and limits.before_enabled,
        max_deletes=min(limits.max_deletes, limits.before_max_deletes),
    )


def to_json(memory: FleetMemory) -> JsonObject:
    """The memory as plain JSON, ordered: the same memory gives the same bytes."""
    plain: JsonObject = msgspec.to_builtins(memory, order="deterministic")
    return plain


def from_json(state: JsonObject) -> FleetMemory:
    """The memory that `to_json` gave. Raises MemoryStoreError: unreadable memory is never an empty one."""
    version = state.get("version")
    if version != MEMORY_VERSION:
        raise MemoryStoreError(
            f"the remembered state has version {version!r}, this gitops-mc reads version {MEMORY_VERSION}",
            hint="use the gitops-mc that wrote it, or move the file away: then every cluster is met as for the first time",
        )
    hint = "restore it from a copy, or move the file away: then every cluster is met as for the first time"
    try:
        found = msgspec.convert(state, FleetMemory)
    except msgspec.ValidationError as error:
        raise MemoryStoreError(f"the remembered state cannot be understood: {error}", hint=hint) from error
    if strange := nonsense(found):
        raise MemoryStoreError(f"the remembered state cannot be understood: {strange}", hint=hint)
    return found


_ORDERS = (None, *(order.value for order in MergeOrder))


def nonsense(value: object, place: str = "") -> str:
    """What in a memory has the right shape and means nothing: a time without a zone can be compared with no other. Empty: nothing."""
    match value:
        case datetime():
            return "" if value.tzinfo is not None else f"{place} is a time without a zone"
        case ClusterMemory(merge_order=order) if order not in _ORDERS:
            return f"{f'{place}.merge_order'.lstrip('.')} is {order!r}, and no order"
        case Mapping():
            parts = [(f"{place}.{key}", part) for key, part in value.items()]
        case tuple():
            parts = [(f"{place}[{number}]", part) for number, part in enumerate(value)]
        case _ if is_dataclass(value):
            parts = [(f"{place}.{each.name}", getattr(value, each.name)) for each in fields(value)]
        case _:
            return ""
    return next((found for name, part in parts if (found := nonsense(part, name.lstrip(".")))), "")
