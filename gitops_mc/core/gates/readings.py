"""What one observation of a pool says: the instantaneous half of the pool gate, without any clock.

The same observation gives the same reading; `gitops_mc.core.gates.clocks.judge` adds time and makes a verdict of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from gitops_mc.core.ignition import Mismatch


class Attribution(StrEnum):
    """Whose trouble it is. Only OURS opens the way for a repair through a closed gate."""

    OURS = "ours"
    """currentConfig and desiredConfig differ in entries of configs we own."""
    FOREIGN = "foreign"
    """They differ, but in nothing of ours."""
    DRIFT = "drift"
    """Both are equal: somebody changed the node by hand, no config is at fault."""
    NOT_KNOWN = "not known"
    """A rendered config or the nodes were not read, or nobody can tell who owned an entry that is gone."""


@dataclass(frozen=True, slots=True)
class NodeFault:
    """One Degraded node, and whose trouble it is."""

    node: str
    attribution: Attribution
    entries: tuple[str, ...]
    """Names of the entries in which its two configs differ, without content."""
    reason: str


@dataclass(frozen=True, slots=True)
class Terminal:
    """Degraded or RenderDegraded, seen now. A failure only if it persists: it may flap."""

    conditions: tuple[str, ...]
    """Types of the conditions that are True, for instance `RenderDegraded`."""
    nodes: tuple[NodeFault, ...]
    attribution: Attribution
    """OURS if any node or the rendering is ours; DRIFT or FOREIGN only if all that is known says so."""


@dataclass(frozen=True, slots=True)
class NodeTrouble:
    """A node that goes no further by itself: why, since when (as the API says it, or empty), and what to type."""

    node: str
    why: str
    commands: tuple[str, ...]
    since: str = ""

    def __str__(self) -> str:
        since = f" since {self.since}" if self.since else ""
        return f"node {self.node} {self.why}{since}"


class Paused(StrEnum):
    NO = "no"
    BY_US = "by us"
    """Our bracket's annotation stands on the pool."""
    BY_ABORT = "by abort"
    """An abort's annotation stands on the pool: it runs again when that is taken back."""
    BY_ANOTHER = "by another"
    """Never unpaused by us."""


STANDING_STILL = (Paused.BY_ANOTHER, Paused.BY_ABORT)
"""Somebody wants the pool to stand still: no time counts for it."""


class Agreement(StrEnum):
    """Whether the merge of the live selected configs equals what the pool rendered."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Settled:
    """Everything the pool gate asks for is true now. It opens once that has lasted."""

    cluster: str
    pool: str
    reason: str
    progress: str
    capacity_left: int
    """How many nodes may still become unavailable; 0: the operator would not begin on any node."""
    excused: tuple[str, ...] = ()
    """Members that were left out because a human excused them."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Something of it is false now, and known to be."""

    cluster: str
    pool: str
    reason: str
    """What stands in its way, each thing once: where a node explains what the pool says and counts, the node is named."""
    blockers: tuple[str, ...]
    """Every fact that is not as it has to be, conditions with since when and counts among them."""
    terminal: Terminal | None
    progress: str
    mismatch: tuple[Mismatch, ...]
    """Where the live merge and the rendered config differ. Entries only the rendered has are a surplus."""
    agreement: Agreement
    paused: Paused
    capacity_left: int
    needs_hands: tuple[NodeTrouble, ...] = ()
    """Nodes that the operator cannot retarget, or that hold the pool up until somebody acts."""
    draining: tuple[NodeTrouble, ...] = ()
    """Nodes in the middle of a drain; a PodDisruptionBudget may hold one up for an hour without any condition."""
    commands: tuple[str, ...] = ()
    """What shows or mends it, the first node's first."""
    accept: str = ""
    """Id under which a human may accept the mismatch; empty unless the mismatch is all that is wrong."""


@dataclass(frozen=True, slots=True)
class PoolNotKnown:
    """A fact is missing. Never opens, never fails."""

    cluster: str
    pool: str
    reason: str


PoolReading: TypeAlias = Settled | Unsettled | PoolNotKnown
