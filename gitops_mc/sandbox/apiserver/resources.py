"""The kinds that are served, as a table. A new kind is a row."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from gitops_mc.core.model import MACHINE_GROUP_VERSION, MODULE_GROUP_VERSION, PLATFORM_GROUP_VERSION
from gitops_mc.sandbox.apiserver import machine_schemas, module_schemas
from gitops_mc.sandbox.apiserver.columns import Column
from gitops_mc.sandbox.apiserver.schema import ANY, Schema, atomic_struct, built_in, list_map, open_struct


class Where(Enum):
    """On which clusters a kind is served."""

    EVERYWHERE = "everywhere"
    GLOBAL = "global"
    WITH_MACHINE_PLUGIN = "with the machine-config plugin"


class Scope(Enum):
    CLUSTER = "Cluster"
    NAMESPACED = "Namespaced"


class Status(Enum):
    """Whether the kind has a status subresource."""

    SUBRESOURCE = "subresource"
    NONE = "none"


class Generation(Enum):
    """Which changes count up metadata.generation."""

    NEVER = "never"
    SPEC = "spec"
    ALL_BUT_METADATA = "all but metadata and status"


@dataclass(frozen=True, eq=False)
class Resource:
    """One row; each is equal to itself alone. `schema` of a built-in kind declares only what matters for merging."""

    api_version: str
    kind: str
    plural: str
    scope: Scope
    schema: Schema
    status: Status
    generation: Generation
    where: Where = Where.EVERYWHERE
    short_names: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    """Field selectors beside metadata.name and metadata.namespace."""
    categories: tuple[str, ...] = ()
    """Names that stand for several kinds: `kubectl get all`."""
    columns: tuple[Column, ...] = ()
    """Of a kind that is defined at run time; those of the others stand in tables of their own."""

    @cached_property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @cached_property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    @cached_property
    def id(self) -> str:
        """`machineconfigs.machineconfiguration.alauda.io`, `nodes`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def built_in(self) -> bool:
        """Whether the kind is a server's own. Groups of custom resources are domains that are not Kubernetes'."""
        return "." not in self.group or self.group.endswith(".k8s.io")

    @cached_property
    def namespaced(self) -> bool:
        return self.scope is Scope.NAMESPACED

    @cached_property
    def unconditional_update(self) -> bool:
        """Whether a PUT may leave out the resourceVersion. It may not for custom resources, leases and budgets."""
        return self.built_in and self.plural not in ("leases", "poddisruptionbudgets")

    @cached_property
    def selectable(self) -> tuple[str, ...]:
        return ("metadata.name", "metadata.namespace", *self.fields)

    @cached_property
    def has_status(self) -> bool:
        return self.status is Status.SUBRESOURCE


_CONDITIONS = list_map("type", ANY)
_CONTAINER = open_struct(env=list_map("name", ANY), volumeMounts=list_map("mountPath", ANY))
_POD_SPEC = open_struct(
    containers=list_map("name", _CONTAINER),
    initContainers=list_map("name", _CONTAINER),
    volumes=list_map("name", ANY),
)
_SELECTOR = atomic_struct(matchLabels=ANY, matchExpressions=ANY)
_WORKLOAD = built_in(
    spec=open_struct(selector=_SELECTOR, template=open_struct(spec=_POD_SPEC)),
    status=open_struct(conditions=_CONDITIONS),
)
_WITH_CONDITIONS = built_in(status=open_struct(conditions=_CONDITIONS))
_NODE = built_in(
    status=open_struct(conditions=_CONDITIONS, addresses=list_map("type", ANY)),
)
_POD = built_in(spec=_POD_SPEC, status=open_struct(conditions=_CONDITIONS))
_BUDGET = built_in(spec=open_struct(selector=_SELECTOR), status=open_struct(conditions=_CONDITIONS))

_CLUSTER, _NAMESPACED = Scope.CLUSTER, Scope.NAMESPACED
_SUB, _NO_STATUS = Status.SUBRESOURCE, Status.NONE
_ALL, _SPEC, _NEVER = Generation.ALL_BUT_METADATA, Generation.SPEC, Generation.NEVER
_GLOBAL, _PLUGIN = Where.GLOBAL, Where.WITH_MACHINE_PLUGIN
_MC, _MODULE = MACHINE_GROUP_VERSION, MODULE_GROUP_VERSION
_M, _P = machine_schemas, module_schemas
_IN_ALL = ("all",)
_ABOUT = ("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid")

RESOURCES: tuple[Resource, ...] = (
    Resource(
        _MC,
        "MachineConfig",
        "machineconfigs",
        _CLUSTER,
        _M.MACHINE_CONFIG,
        _NO_STATUS,
        _ALL,
        _PLUGIN,
        ("mc",),
    ),
    Resource(
        _MC,
        "MachineConfigPool",
        "machineconfigpools",
        _CLUSTER,
        _M.MACHINE_CONFIG_POOL,
        _SUB,
        _ALL,
        _PLUGIN,
        ("mcp",),
    ),
    Resource(
        _MC,
        "MachineConfiguration",
        "machineconfigurations",
        _CLUSTER,
        _M.MACHINE_CONFIGURATION,
        _SUB,
        _ALL,
        _PLUGIN,
    ),
    Resource(
        _MODULE, "ModuleInfo", "moduleinfoes", _CLUSTER, _P.MODULE_INFO, _SUB, _ALL, _GLOBAL, ("minfo",)
    ),
    Resource(
        _MODULE,
        "ModuleConfig",
        "moduleconfigs",
        _CLUSTER,
        _P.MODULE_CONFIG,
        _SUB,
        _ALL,
        _GLOBAL,
        ("mconfig",),
    ),
    Resource(
        _MODULE,
        "ModulePlugin",
        "moduleplugins",
        _CLUSTER,
        _P.MODULE_PLUGIN,
        _SUB,
        _ALL,
        _GLOBAL,
        ("mplugin",),
    ),
    Resource(
        PLATFORM_GROUP_VERSION, "Cluster", "clusters", _CLUSTER, _P.PLATFORM_CLUSTER, _SUB, _ALL, _GLOBAL
    ),
    Resource(
        "operator.alauda.io/v1alpha1", "AppRelease", "appreleases", _NAMESPACED, _P.APP_RELEASE, _SUB, _ALL
    ),
    Resource("v1", "Namespace", "namespaces", _CLUSTER, _WITH_CONDITIONS, _SUB, _NEVER, short_names=("ns",)),
    Resource("v1", "Node", "nodes", _CLUSTER, _NODE, _SUB, _NEVER, short_names=("no",)),
    Resource(
        "v1",
        "Pod",
        "pods",
        _NAMESPACED,
        _POD,
        _SUB,
        _NEVER,
        short_names=("po",),
        fields=("spec.nodeName", "status.phase"),
        categories=_IN_ALL,
    ),
    Resource(
        "v1", "ConfigMap", "configmaps", _NAMESPACED, built_in(), _NO_STATUS, _NEVER, short_names=("cm",)
    ),
    Resource("v1", "Secret", "secrets", _NAMESPACED, built_in(), _NO_STATUS, _NEVER, fields=("type",)),
    Resource(
        "v1",
        "Event",
        "events",
        _NAMESPACED,
        built_in(),
        _NO_STATUS,
        _NEVER,
        short_names=("ev",),
        fields=(
            *(f"involvedObject.{key}" for key in _ABOUT),
            "reason",
            "reportingComponent",
            "source",
            "type",
        ),
    ),
    Resource(
        "apps/v1",
        "Deployment",
        "deployments",
        _NAMESPACED,
        _WORKLOAD,
        _SUB,
        _SPEC,
        short_names=("deploy",),
        categories=_IN_ALL,
    ),
    Resource(
        "apps/v1",
        "DaemonSet",
        "daemonsets",
        _NAMESPACED,
        _WORKLOAD,
        _SUB,
        _SPEC,
        short_names=("ds",),
        categories=_IN_ALL,
    ),
    Resource(
        "policy/v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        _NAMESPACED,
        _BUDGET,
        _SUB,
        _SPEC,
        short_names=("pdb",),
    ),
    Resource(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        _CLUSTER,
        _WITH_CONDITIONS,
        _SUB,
        _SPEC,
        short_names=("crd", "crds"),
    ),
    Resource("coordination.k8s.io/v1", "Lease", "leases", _NAMESPACED, built_in(), _NO_STATUS, _NEVER),
)
