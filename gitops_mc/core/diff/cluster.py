"""The diff of one cluster: desired objects against live ones."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_mc.core.diff.changes import ClusterDiff, Written
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import DesiredCluster, ResourceKey

NOTHING_WINS: frozenset[ResourceKey] = frozenset()


def diff_cluster(
    desired: DesiredCluster,
    live: LiveCluster,
    inventory: Mapping[ResourceKey, Written],
    *,
    fleet: str,
    git_wins: frozenset[ResourceKey] = NOTHING_WINS,
) -> ClusterDiff:
    """Everything that differs between Git and one cluster.

    `inventory` is what the rollout remembers of the objects it wrote for this cluster; `fleet` the value of our
    label; `git_wins` the drifted objects of which a human has said that Git's side wins.
    """
    raise NotImplementedError(desired, live, inventory, fleet, git_wins)
