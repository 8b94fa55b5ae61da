"""The desired objects of a cluster exactly as they would be sent to one that has nothing yet."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime

from gitops_mc.core.diff import Create, diff_cluster
from gitops_mc.core.live import LiveCluster, MachineApis, objects, unread
from gitops_mc.core.model import DesiredCluster, JsonObject, Known
from gitops_mc.core.policy import FleetPolicy

_NEVER = datetime.min.replace(tzinfo=UTC)


def desired_objects(cluster: DesiredCluster, policy: FleetPolicy) -> tuple[JsonObject, ...]:
    """In the order of their keys: machine kinds as they are applied, a ModuleInfo as it is POSTed."""
    found = diff_cluster(cluster, _empty(cluster.name), {}, fleet=policy.name)
    return tuple(change.body for change in found.changes if isinstance(change, Create))


def _empty(name: str) -> LiveCluster:
    """A cluster that was read, and has nothing."""
    nothing = Known(objects({}), _NEVER)
    facts = {f.name: nothing for f in fields(LiveCluster) if f.name not in {"name", "machine_apis", "dark"}}
    served = Known(MachineApis(served=True), _NEVER)
    return replace(unread(name, _NEVER), machine_apis=served, **facts)  # type: ignore[arg-type]
