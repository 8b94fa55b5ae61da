"""The repository of a simulation: what its commits change, and the files that comes to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_mc.core.model import JsonObject
from tests.scenarios.rollout_world import UNIT, machine_config, module

ROLE = "machineconfiguration.alauda.io/role"
MARKER = "BROKEN"
"""Content with this word breaks the nodes it is written to."""
MORE = "+"
OTHER_MODULE = "logcenter"


@dataclass
class Repository:
    """What the drawn commits change, and the files it comes to."""

    clusters: tuple[str, ...]
    labelled: tuple[str, ...]
    """Clusters with a node for the custom pool."""
    rollout: JsonObject
    prune: JsonObject
    shared: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Configs of all clusters: role and value by name; a name that ends in `-u` has a unit, too."""
    own: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    policies: dict[str, str] = field(default_factory=dict)
    pools: dict[str, int] = field(default_factory=dict)
    """maxUnavailable of the custom pool, by cluster that has it."""
    modules: dict[str, str] = field(default_factory=dict)
    """Version of machine-config, by cluster whose folder has it."""
    others: dict[str, str] = field(default_factory=dict)
    """The same for a module that is none of the pools' business."""
    typo: str = ""
    """A cluster whose folder cannot be read."""
    remarks: int = 0

    def files(self) -> dict[str, str]:
        spec = {
            "shared": [{"path": "shared/base", "clusters": {"names": ["*"]}}],
            "rollout": self.rollout,
            "prune": self.prune,
        }
        fleet = {
            "apiVersion": "gitops-mc.io/v1alpha1",
            "kind": "FleetConfig",
            "metadata": {"name": "test"},
            "spec": spec,
        }
        files = {"fleet.yaml": json.dumps(fleet), "README.md": f"remark {self.remarks}\n"}
        for name, (role, value) in self.shared.items():
            files[f"shared/base/{name}.yaml"] = _config(name, role, value)
        if self.policies:
            files["shared/base/policy.yaml"] = _policy(self.policies)
        for cluster in self.clusters:
            files.update(self._cluster_files(cluster))
        return files

    def _cluster_files(self, cluster: str) -> dict[str, str]:
        folder = f"clusters/{cluster}"
        files = {f"{folder}/.keep.yaml": ""}
        for name, (role, value) in self.own.get(cluster, {}).items():
            files[f"{folder}/{name}.yaml"] = _config(name, role, value)
        if cluster in self.pools:
            files[f"{folder}/pool.yaml"] = custom_pool("gpu", self.pools[cluster])
        if cluster in self.modules:
            files[f"{folder}/module.yaml"] = module(cluster, self.modules[cluster])
        if cluster in self.others:
            files[f"{folder}/other.yaml"] = module(cluster, self.others[cluster], name=OTHER_MODULE)
        if self.typo == cluster:
            files[f"{folder}/typo.yaml"] = "kind: [\n"
        return files


def _config(name: str, role: str, value: str) -> str:
    """A config with one file; with a second one where the value ends in `+`, with a unit where the name ends in `-u`."""
    said = value.removesuffix(MORE)
    files = {f"/etc/{name}.conf": f"{said}\n"}
    if value != said:
        files[f"/etc/{name}.more"] = "more\n"
    if name.endswith("-u"):
        return machine_config(name, role=role, files=files, app_service=f"{UNIT}# {name} {said}\n")
    return machine_config(name, role=role, files=files)


def _policy(policies: Mapping[str, str]) -> str:
    files = [{"path": p, "actions": [{"type": a}]} for p, a in sorted(policies.items())]
    body = {
        "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
        "kind": "MachineConfiguration",
        "metadata": {"name": "cluster"},
        "spec": {"nodeDisruptionPolicy": {"files": files}},
    }
    return json.dumps(body)


def custom_pool(name: str, max_unavailable: int = 1) -> str:
    selector = {"matchExpressions": [{"key": ROLE, "operator": "In", "values": ["worker", name]}]}
    body = {
        "apiVersion": "machineconfiguration.alauda.io/v1alpha1",
        "kind": "MachineConfigPool",
        "metadata": {"name": name},
        "spec": {
            "machineConfigSelector": selector,
            "nodeSelector": {"matchLabels": {f"node-role.kubernetes.io/{name}": ""}},
            "maxUnavailable": max_unavailable,
        },
    }
    return json.dumps(body)
