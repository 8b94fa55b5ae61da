"""Clusters that are not a Fleet's to write for: another Fleet has claimed them, or what is remembered of them cannot be understood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gitops_mc.core.live import Barred

_NAMED: Final = 20
"""Clusters that a command is written out for."""


def claimed(by: Mapping[str, str]) -> dict[str, Barred]:
    """Clusters that another Fleet (`<namespace>/<name>`) has claimed."""
    clusters: dict[str, list[str]] = {}
    for name, owner in by.items():
        clusters.setdefault(owner, []).append(name)
    return {
        name: Barred(
            f"Fleet {owner} has claimed it, and a cluster belongs to one Fleet",
            _one_of_two(owner, clusters[owner]),
        )
        for name, owner in by.items()
    }


def _one_of_two(owner: str, clusters: list[str]) -> str:
    """One text for all clusters of an owner: it is shown once."""
    names = sorted(clusters)
    rest = f" (and {len(names) - _NAMED} more)" if len(names) > _NAMED else ""
    namespace = owner.partition("/")[0]
    return (
        f"take out of one of the two repositories what Fleet {owner} has as well; where that Fleet is gone: "
        f"kubectl -n {namespace} delete clusterrollout {' '.join(names[:_NAMED])}{rest}"
    )


def not_understood(why: Mapping[str, str], namespace: str) -> dict[str, Barred]:
    """Clusters whose ClusterRollout cannot be understood, with why."""
    return {
        name: Barred(
            reason,
            f"mend it, with the version that wrote it or by hand (kubectl -n {namespace} edit clusterrollout {name} "
            "--subresource=status); deleted, the cluster is met as for the first time",
        )
        for name, reason in why.items()
    }
