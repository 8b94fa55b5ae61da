"""Where things stand below a cluster's root: one row a kind, so that no path is put together anywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import quote

from gitops_mc.core.custom import FLEET_KIND, GROUP_VERSION, ROLLOUT_KIND
from gitops_mc.core.model import MODULE_GROUP_VERSION, PLATFORM_GROUP_VERSION, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping


class Part(Enum):
    """What of an object a write is about: all but its status, or its status alone."""

    WHOLE = ""
    STATUS = "/status"


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as the API serves it. `group_version` is what `apiVersion` says: `apps/v1`, or `v1` for the core."""

    kind: str
    group_version: str
    plural: str
    namespaced: bool = False

    @property
    def group(self) -> str:
        """API group, `""` for the core."""
        return self.group_version.rpartition("/")[0]

    def collection(self, namespace: str = "") -> str:
        """Path of the collection; without a namespace that of all namespaces. Raises ValueError on a mismatch."""
        base = api_root(self.group_version)
        if not namespace:
            return f"{base}/{self.plural}"
        if not self.namespaced:
            raise ValueError(f"{self.kind} is cluster-scoped, it has no namespace {namespace!r}")
        return f"{base}/namespaces/{_segment(namespace)}/{self.plural}"

    def item(self, name: str, namespace: str = "", part: Part = Part.WHOLE) -> str:
        """Path of one object, or of its status. Raises ValueError when the namespace is missing."""
        if self.namespaced and not namespace:
            raise ValueError(f"{self.kind} {name!r} needs a namespace")
        return f"{self.collection(namespace)}/{_segment(name)}{part.value}"


def api_root(group_version: str) -> str:
    """`/apis/<group>/<version>`, or `/api/v1` for the core: the path of discovery."""
    return f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"


def _segment(name: str) -> str:
    if name in ("", ".", ".."):
        raise ValueError(f"{name!r} is not a name of an object")
    return quote(name, safe="")


_MANAGED = tuple(Resource(kind.value, kind.api_version, kind.plural) for kind in Kind)

_OTHERS = (
    Resource("ModulePlugin", MODULE_GROUP_VERSION, "moduleplugins"),
    Resource("ModuleConfig", MODULE_GROUP_VERSION, "moduleconfigs"),
    Resource("Cluster", PLATFORM_GROUP_VERSION, "clusters"),
    Resource("AppRelease", "operator.alauda.io/v1alpha1", "appreleases", namespaced=True),
    Resource("Node", "v1", "nodes"),
    Resource("Namespace", "v1", "namespaces"),
    Resource("ConfigMap", "v1", "configmaps", namespaced=True),
    Resource("Event", "v1", "events", namespaced=True),
    Resource("Pod", "v1", "pods", namespaced=True),
    Resource("Secret", "v1", "secrets", namespaced=True),
    Resource("Deployment", "apps/v1", "deployments", namespaced=True),
    Resource("DaemonSet", "apps/v1", "daemonsets", namespaced=True),
    Resource("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", namespaced=True),
    Resource("Lease", "coordination.k8s.io/v1", "leases", namespaced=True),
    Resource("CustomResourceDefinition", "apiextensions.k8s.io/v1", "customresourcedefinitions"),
    Resource(FLEET_KIND, GROUP_VERSION, "fleets", namespaced=True),
    Resource(ROLLOUT_KIND, GROUP_VERSION, "clusterrollouts", namespaced=True),
    Resource("SelfSubjectAccessReview", "authorization.k8s.io/v1", "selfsubjectaccessreviews"),
)

RESOURCES: Mapping[str, Resource] = MappingProxyType({r.kind: r for r in (*_MANAGED, *_OTHERS)})
"""By kind. Plurals of the platform's kinds are those of its published CRDs."""


def resource(kind: str) -> Resource:
    """The row of a kind (a `Kind` is one too). Raises KeyError for a kind this product never asks for."""
    return RESOURCES[kind]
