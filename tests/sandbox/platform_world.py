"""A fleet on virtual time, and short ways to say what is done to it and to look at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from gitops_mc.core.model import GLOBAL_CLUSTER, MACHINE_GROUP_VERSION, ROLE_LABEL, JsonObject
from gitops_mc.sandbox.faults import FaultBoard
from gitops_mc.sandbox.fleet import FleetSpec, SandboxFleet, simple_fleet
from gitops_mc.sandbox.people import Person
from gitops_mc.sandbox.virtual import VirtualClock

EDGE = "edge"
FILE_POLICY_RESTART = {
    "path": "/etc/chrony.conf",
    "actions": [{"type": "Restart", "restart": {"serviceName": "chronyd.service"}}],
}


@dataclass
class World:
    spec: FleetSpec = field(default_factory=lambda: simple_fleet(EDGE))
    faults: FaultBoard = field(default_factory=FaultBoard)
    seed: int = 0

    def __post_init__(self) -> None:
        self.clock = VirtualClock()
        self.start = self.clock.now()
        self.fleet = SandboxFleet(self.spec, self.clock.now, faults=self.faults, seed=self.seed)
        self.clock.drive(self.fleet)

    @property
    def edge(self) -> Person:
        return self.fleet.person(EDGE)

    @property
    def platform(self) -> Person:
        return self.fleet.person(GLOBAL_CLUSTER)

    def run(self, seconds: float) -> None:
        self.clock.wait(self.clock.now() + timedelta(seconds=seconds))

    def seconds(self) -> float:
        """Since the beginning."""
        return (self.clock.now() - self.start).total_seconds()

    def pool(self, name: str = "worker", cluster: str = EDGE) -> JsonObject:
        found = self.fleet.person(cluster).get("machineconfigpools", name)
        assert found is not None
        return found

    def condition(self, kind: str, name: str = "worker") -> str:
        return str(next(c["status"] for c in self.pool(name)["status"]["conditions"] if c["type"] == kind))

    def message(self, kind: str, name: str = "worker") -> str:
        return str(next(c["message"] for c in self.pool(name)["status"]["conditions"] if c["type"] == kind))

    def node(self, name: str) -> JsonObject:
        found = self.edge.get("nodes", name)
        assert found is not None
        return found

    def notes(self, name: str) -> dict[str, str]:
        """A node's own annotations, by the last part of their names."""
        return {k.rpartition("/")[2]: v for k, v in self.node(name)["metadata"]["annotations"].items()}

    def modules(self, module: str = "machine-config", cluster: str = EDGE) -> list[JsonObject]:
        labels = {"cpaas.io/module-name": module, "cpaas.io/cluster-name": cluster}
        found = self.platform.list_all("moduleinfoes")
        return [m for m in found if labels.items() <= m["metadata"]["labels"].items()]


def config(
    name: str,
    role: str = "worker",
    *,
    files: dict[str, str] | None = None,
    units: dict[str, str] | None = None,
    keys: tuple[str, ...] = (),
    arguments: tuple[str, ...] = (),
    **ignition: Any,
) -> JsonObject:
    """A MachineConfig; files and units by name with their text."""
    body: JsonObject = {"ignition": {"version": "3.4.0"}, **ignition}
    if files:
        listed = [
            {"path": p, "mode": 420, "contents": {"source": f"data:,{text}"}} for p, text in files.items()
        ]
        body["storage"] = {"files": listed}
    if units:
        body["systemd"] = {
            "units": [{"name": n, "enabled": True, "contents": text} for n, text in units.items()]
        }
    if keys:
        body["passwd"] = {"users": [{"name": "boot", "sshAuthorizedKeys": list(keys)}]}
    return {
        "apiVersion": MACHINE_GROUP_VERSION,
        "kind": "MachineConfig",
        "metadata": {"name": name, "labels": {ROLE_LABEL: role}},
        "spec": {"config": body, **({"kernelArguments": list(arguments)} if arguments else {})},
    }


def custom_pool(name: str, **spec: Any) -> JsonObject:
    """A custom pool that inherits worker; its nodes carry the label `node-role.kubernetes.io/<name>`."""
    roles = [{"key": ROLE_LABEL, "operator": "In", "values": ["worker", name]}]
    return {
        "apiVersion": MACHINE_GROUP_VERSION,
        "kind": "MachineConfigPool",
        "metadata": {"name": name},
        "spec": {
            "machineConfigSelector": {"matchExpressions": roles},
            "nodeSelector": {"matchLabels": {f"node-role.kubernetes.io/{name}": ""}},
            **spec,
        },
    }
