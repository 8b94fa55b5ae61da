"""Content and rule problems of a cluster, worked out again only when something of the cluster has changed."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import TypeAlias

from gitops_mc.core.model import DesiredCluster, Manifest, Place, Problem, content_of
from gitops_mc.core.policy import FleetPolicy
from gitops_mc.core.rules import check

Origins: TypeAlias = tuple[tuple[Place, str], ...]
"""Where the manifests of a cluster begin, and the blobs they were read from."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A cluster with its content, and what the rules say about it: a function of the other two fields."""

    cluster: DesiredCluster
    problems: tuple[Problem, ...]
    origins: Origins
    policy: FleetPolicy


CheckedCache: TypeAlias = MutableMapping[str, Checked]
"""By cluster name, the last result only. The caller owns it."""


def check_cluster(
    name: str,
    manifests: tuple[Manifest, ...],
    labels: Mapping[str, str],
    *,
    origins: Origins,
    policy: FleetPolicy,
    cache: CheckedCache,
) -> Checked:
    """The result of the last time where nothing it depends on has changed: lines of fields are in `origins`,
    contents of other files in the manifests' bodies.
    """
    known = cache.get(name)
    if (
        known is not None
        and known.origins == origins
        and known.cluster.manifests == manifests
        and known.cluster.labels == labels
        and known.policy == policy
    ):
        return known
    cluster = DesiredCluster(name, manifests, content_of(manifests), (), labels)
    found = Checked(cluster, check(cluster, policy), origins, policy)
    cache[name] = found
    return found
