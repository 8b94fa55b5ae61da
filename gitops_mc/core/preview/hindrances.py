"""What hinders on the clusters: drains that would wait, nodes that nobody reaches, versions without a way."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


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
