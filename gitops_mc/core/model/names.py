"""The names the platform and we go by, and the identity of a managed object."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_OBJECT_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_OBJECT_NAME = 253

GLOBAL_CLUSTER = "global"
MACHINE_GROUP_VERSION = "machineconfiguration.alauda.io/v1alpha1"
MODULE_GROUP_VERSION = "cluster.alauda.io/v1alpha1"
PLATFORM_GROUP_VERSION = "platform.tkestack.io/v1"
FIELD_MANAGER = "gitops-mc"
MACHINE_CONFIG_MODULE = "machine-config"
POLICY_NAME = "cluster"
"""The one MachineConfiguration the operator reads."""

ROLE_LABEL = "machineconfiguration.alauda.io/role"
CLUSTER_LABEL = "cpaas.io/cluster-name"
MODULE_LABEL = "cpaas.io/module-name"
MODULE_TYPE_LABEL = "cpaas.io/module-type"
FLEET_LABEL = "gitops-mc.io/fleet"
APPLIED_ANNOTATION = "gitops-mc.io/applied"
BRACKET_ANNOTATION = "gitops-mc.io/bracket"
ABORT_ANNOTATION = "gitops-mc.io/aborted"
"""On a pool that an abort has paused: who, why, with which content, and what `paused` was before."""
PAUSED_ANNOTATION = "gitops-mc.io/paused-by-git"
"""On a pool that is paused because its manifest says so: only then may we let it run when the manifest says no more."""
PRUNE_ANNOTATION = "gitops-mc.io/prune"
ADOPT_ANNOTATION = "gitops-mc.io/adopt-from"
DOWNGRADE_ANNOTATION = "gitops-mc.io/allow-downgrade"


class Kind(StrEnum):
    """The managed kinds, in the order in which lists of objects show them."""

    MODULE_INFO = "ModuleInfo"
    MACHINE_CONFIGURATION = "MachineConfiguration"
    MACHINE_CONFIG_POOL = "MachineConfigPool"
    MACHINE_CONFIG = "MachineConfig"

    @property
    def api_version(self) -> str:
        return MODULE_GROUP_VERSION if self is Kind.MODULE_INFO else MACHINE_GROUP_VERSION

    @property
    def plural(self) -> str:
        return _PLURALS[self]

    @property
    def order(self) -> int:
        return _KIND_ORDER[self]


_PLURALS = {
    Kind.MODULE_INFO: "moduleinfoes",
    Kind.MACHINE_CONFIGURATION: "machineconfigurations",
    Kind.MACHINE_CONFIG_POOL: "machineconfigpools",
    Kind.MACHINE_CONFIG: "machineconfigs",
}
_KIND_ORDER = {kind: position for position, kind in enumerate(Kind)}


@dataclass(frozen=True, slots=True)
class ResourceKey:
    """Identity of a managed object. For a ModuleInfo `name` is the module's name: its metadata.name is not stable."""

    cluster: str
    kind: Kind
    name: str

    def sort_key(self) -> tuple[str, int, str]:
        return (self.cluster, self.kind.order, self.name)

    def __lt__(self, other: ResourceKey) -> bool:
        return self.sort_key() < other.sort_key()

    def __str__(self) -> str:
        return f"{self.cluster}/{self.kind.value}/{self.name}"


def is_object_name(text: str) -> bool:
    """As the API server takes it: a DNS subdomain (RFC 1123), at most 253 characters."""
    return len(text) <= _LONGEST_OBJECT_NAME and _OBJECT_NAME.fullmatch(text) is not None
