"""The fleet of the demonstration: small, kind, and with one thing that it does not forgive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from gitops_mc.core.model import GLOBAL_CLUSTER
from gitops_mc.sandbox.faults import FaultBoard, FaultId
from gitops_mc.sandbox.fleet import MACHINE_CONFIG_VERSION, FleetSpec, SandboxFleet
from gitops_mc.sandbox.site import WORKER_LABEL, ClusterSpec

INFRA_LABEL = "node-role.kubernetes.io/infra"


def build(
    now: Callable[[], datetime], installed: Sequence[str], newcomer: str, unforgiven: str
) -> SandboxFleet:
    """Clusters with machine-config `installed`, a `newcomer` without it, and nodes that go Degraded on a config with
    `unforgiven` in it. `dc-01` has a node for a pool of infra nodes.
    """
    faults = FaultBoard()
    faults.set(FaultId.NODE_DEGRADED, marker=unforgiven)
    versions = {**dict.fromkeys(installed, MACHINE_CONFIG_VERSION), newcomer: None}
    clusters = tuple(
        ClusterSpec(name, masters=1, workers=0 if name == GLOBAL_CLUSTER else 2, machine_config=version)
        for name, version in sorted(versions.items())
    )
    fleet = SandboxFleet(FleetSpec(clusters), now, faults=faults)
    fleet.add_node("dc-01", "dc-01-i1", {WORKER_LABEL: "", INFRA_LABEL: ""})
    return fleet
