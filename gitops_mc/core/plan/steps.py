"""The plan as a value: steps in order, what each does to nodes, and what keeps it from being carried out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from gitops_mc.core.diff import Change, Delete, Drift, NewerLive, NotRead, Orphan, Touch, Update
from gitops_mc.core.disruption import Disruption
from gitops_mc.core.ignition import EntryChange
from gitops_mc.core.model import Content, ResourceKey, digest_of, named


class StepKind(StrEnum):
    """The kinds of steps, in the order in which a cluster takes them."""

    MODULE = "module"
    POLICY = "policy"
    """Entries that come or change, and those that will go: nothing is taken away yet."""
    POOLS = "pools"
    """One group of pools: every pool object, config and deletion that touches them."""
    POLICY_FINAL = "policy-final"
    POOL_REMOVAL = "pool-removal"
    MODULE_REMOVAL = "module-removal"


_TITLES = {
    StepKind.MODULE: "module {}",
    StepKind.POLICY: "the node-disruption policy",
    StepKind.POLICY_FINAL: "the node-disruption policy, what goes",
    StepKind.POOL_REMOVAL: "the removal of pool {}",
    StepKind.MODULE_REMOVAL: "the removal of module {}",
}


def title_of(step: str) -> str:
    """The id of a step in words: `pool worker`, `module machine-config`; empty for what is no step."""
    kind, _, subject = step.partition(":")
    if kind == StepKind.POOLS.value:
        return named("pool", subject.split(",")) if subject else "configs of new pools"
    return next((title.format(subject) for k, title in _TITLES.items() if k.value == kind), "")


@dataclass(frozen=True, slots=True)
class Step:
    """Writes that belong together. More than one write on pools is bracketed: nodes never start on half of it."""

    kind: StepKind
    subject: str
    """Module name, or the pools of the group joined by commas; empty for the policy."""
    writes: tuple[Change, ...]
    pools: tuple[str, ...] = ()
    """Pools that the writes touch; none of them may be unsettled when the first write is made."""

    @property
    def id(self) -> str:
        return f"{self.kind.value}:{self.subject}" if self.subject else self.kind.value

    @property
    def bracketed(self) -> bool:
        return self.kind is StepKind.POOLS and len(self.writes) > 1


@dataclass(frozen=True, slots=True)
class NodeImpact:
    """What the plan does to nodes that stand at the same config."""

    nodes: tuple[str, ...]
    """Names; empty when nodes were not read and only their number is known."""
    count: int
    disruption: Disruption


@dataclass(frozen=True, slots=True)
class PoolImpact:
    """What the plan does to one pool."""

    pool: str
    changes: tuple[EntryChange, ...]
    """Entries of the effective config that are added, changed or removed."""
    nodes: tuple[NodeImpact, ...]
    max_unavailable: int
    estimate: timedelta
    """Shown, never a gate, and outside the digest."""


class PlanRule(StrEnum):
    """Rules that only a whole plan can break. docs/runbooks/refusals.md has a section for each."""

    TOO_MANY_DELETIONS = "too-many-deletions"
    TOO_MANY_REMOVALS = "too-many-removals"
    MERGE_ORDER_UNKNOWN = "merge-order-unknown"
    MACHINE_CONFIG_MISSING = "machine-config-missing"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the plan is not carried out: what was found, with the numbers, and the way out."""

    rule: str
    """Of PlanRule, of RefusalCause, or the id of a rule that only the live cluster decides."""
    reason: str
    key: ResourceKey | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that must come true before a step can start, for instance that a module version is published."""

    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """Everything that would be done to one cluster for one content, in order."""

    cluster: str
    content: Content
    steps: tuple[Step, ...] = ()
    impacts: tuple[PoolImpact, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    kept: tuple[Orphan, ...] = ()
    """Live objects gone from Git that stay where they are, and in the effective config."""
    drifts: tuple[Drift, ...] = ()
    newer: tuple[NewerLive, ...] = ()
    not_read: tuple[NotRead, ...] = ()
    unchanged: tuple[ResourceKey, ...] = ()
    notes: tuple[str, ...] = ()
    unforeseen: str = ""
    """Why the impact on nodes is not known; then no impact never means that no node is touched."""

    @property
    def writes(self) -> tuple[Change, ...]:
        return tuple(write for step in self.steps for write in step.writes)

    @property
    def touch(self) -> Touch:
        """CHANGES_EXISTING as soon as one write changes, takes over or deletes a value somebody set."""
        if all(write.touch is Touch.PURE_ADDITION for write in self.writes):
            return Touch.PURE_ADDITION
        return Touch.CHANGES_EXISTING

    @property
    def complete(self) -> bool:
        """Whether everything the plan depends on was read. An incomplete plan never means "no changes"."""
        return not self.not_read

    @property
    def digest(self) -> str:
        """What a human confirms: cluster, content, steps, writes, disruption, refusals; no versions, times, estimates."""
        return digest_of(
            {
                "cluster": self.cluster,
                "content": self.content,
                "steps": [[s.id, [_write_digest(w) for w in s.writes], list(s.pools)] for s in self.steps],
                "impacts": [
                    [i.pool, [[list(n.nodes), n.count, str(n.disruption)] for n in i.nodes]]
                    for i in self.impacts
                ],
                "refusals": [[r.rule, r.reason] for r in self.refusals],
                "not_read": [n.kind.value for n in self.not_read],
            }
        )


DRIFT = "drift:"


def drift_id(key: ResourceKey) -> str:
    """Under which id a human says that Git's side wins over an edit by hand."""
    return f"{DRIFT}{key.kind.value}/{key.name}"


def _write_digest(write: Change) -> list[object]:
    name = type(write).__name__
    if isinstance(write, Delete):
        return [name, str(write.key)]
    body = {k: v for k, v in write.body.items() if k != "metadata"}
    kept = {
        k: v for k, v in (write.body.get("metadata") or {}).items() if k in {"name", "labels", "annotations"}
    }
    return [
        name,
        str(write.key),
        digest_of([body, kept]),
        list(write.patch) if isinstance(write, Update) else [],
    ]
