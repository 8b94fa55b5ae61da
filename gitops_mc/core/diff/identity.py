"""Which module a live ModuleInfo is: told by labels and memory, never by a name that the platform changes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from gitops_mc.core.diff.changes import Written
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    MODULE_LABEL,
    JsonObject,
    Kind,
    ResourceKey,
    labels_of,
    name_of,
    uid_of,
)
from gitops_mc.core.modules import cluster_of


def final_name(cluster: str, module: str) -> str:
    """The name the platform gives a ModuleInfo in the end, its display name being the module's name.

    Recomputed for published samples of the platform: the first 32 hex digits of the hash of cluster, module and
    display name.
    """
    return f"{cluster}-{hashlib.sha256(f'{cluster}:{module}:{module}'.encode()).hexdigest()[:32]}"


def module_of(live: JsonObject, cluster: str, inventory: Mapping[ResourceKey, Written]) -> str | None:
    """Which module a live ModuleInfo of this cluster is: by its labels (or its owner); where they are lost, by what we
    remember.
    """
    labels = labels_of(live)
    if module := labels.get(MODULE_LABEL):
        if cluster_of(live) == cluster:
            return module
        if CLUSTER_LABEL in labels:
            return None
    for key, written in inventory.items():
        if key.kind is Kind.MODULE_INFO and (
            (written.uid and written.uid == uid_of(live)) or name_of(live) == final_name(cluster, key.name)
        ):
            return key.name
    return None
