"""Reading live clusters, as cheaply as it can be done: bodies only where a resourceVersion moved, a rendered config once.

One `ClusterReader` belongs to one cluster and is used by one job at a time. What cannot be read becomes a fact that is
not known; a cluster that does not answer is dark, and keeps what was read before, with its age.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from gitops_mc.app.api import RESOURCES, ClusterApi
from gitops_mc.app.ports import Clock
from gitops_mc.core.errors import (
    ForbiddenError,
    GitopsMcError,
    NotFoundError,
    UnauthorizedError,
    UnreachableError,
)
from gitops_mc.core.gates import NodeNeed, needs_for_pools, read_node
from gitops_mc.core.gates.components import COMPONENT_NAMESPACE, CONTROLLER, DAEMON
from gitops_mc.core.live import Dark, Fact, LiveCluster, MachineApis, Objects, objects, unmoved, unread
from gitops_mc.core.model import (
    GLOBAL_CLUSTER,
    MACHINE_GROUP_VERSION,
    JsonObject,
    Known,
    Outage,
    Unknown,
    metadata,
    name_of,
    resource_version,
)
from gitops_mc.core.modules import cluster_of
from gitops_mc.core.remembered import Remembered

_ROUNDS = 3
"""A verdict may lack nodes, and with them rendered configs; more rounds than that bring nothing new."""

NOT_NEEDED = "not needed"

MACHINE_CONFIG, POOL, POLICY = (
    RESOURCES["MachineConfig"],
    RESOURCES["MachineConfigPool"],
    RESOURCES["MachineConfiguration"],
)


class NodeReading(Enum):
    """Nodes are many and change all the time."""

    WHEN_NEEDED = "when a verdict needs them"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Interest:
    """What is wanted of a cluster beside its configs, pools and policy."""

    nodes: NodeReading = NodeReading.WHEN_NEEDED
    components: bool = False
    """The machine-config controller and daemon; only where Git manages that module."""
    releases: bool = False
    """Why a module is not ready."""


class ClusterReader:
    """Reads one cluster again and again."""

    def __init__(self, api: ClusterApi, cluster: str, clock: Clock) -> None:
        self._api = api
        self._cluster = cluster
        self._clock = clock
        self._bodies: dict[str, JsonObject] = {}
        self._rendered: dict[str, JsonObject] = {}

    def read(self, before: LiveCluster | None, interest: Interest) -> LiveCluster:
        """The cluster as it is now, without what stands on global. Never raises for what the cluster does."""
        before = before or unread(self._cluster, self._clock.now())
        try:
            live = replace(self._read_kinds(before), dark=None)
        except GitopsMcError as error:
            return replace(before, dark=self._dark(before, error))
        live = self._read_needed(live, before.nodes, interest)
        if (
            interest.components
            and not isinstance(live.machine_apis, Unknown)
            and live.machine_apis.value.served
        ):
            live = replace(live, components=self._fact(live.components, self._components))
        if interest.releases:
            live = replace(live, releases=self._fact(live.releases, self._releases))
        return live

    def _read_kinds(self, live: LiveCluster) -> LiveCluster:
        """Configs, pools and policy. That they are not served at all is an answer, too; that one of them is not (a definition
        is being made or was deleted) says nothing about the others.
        """
        try:
            pools = self._api.list(self._cluster, POOL)
            policies = self._api.list(self._cluster, POLICY)
            heads = self._api.list_metadata(self._cluster, MACHINE_CONFIG)
        except NotFoundError as error:
            if self._api.serves(self._cluster, MACHINE_GROUP_VERSION):
                raise UnreachableError(
                    f"{self._cluster} serves {MACHINE_GROUP_VERSION}, but not all of its kinds: {error.message}",
                    hint="is the plugin being installed or removed? kubectl get crds",
                ) from error
            at = self._clock.now()
            nothing: Known[Objects] = Known(objects({}), at)
            return replace(
                live,
                machine_apis=Known(MachineApis(served=False), at),
                configs=nothing,
                pools=nothing,
                policies=nothing,
            )
        configs = self._configs(heads)
        at = self._clock.now()
        return replace(
            live,
            machine_apis=Known(MachineApis(served=True), at),
            configs=Known(unmoved(live.configs, objects(configs)), at),
            pools=Known(unmoved(live.pools, objects({name_of(p): p for p in pools})), at),
            policies=Known(unmoved(live.policies, objects({name_of(p): p for p in policies})), at),
            rendered=Known(unmoved(live.rendered, objects(self._rendered)), at),
        )

    def _configs(self, heads: tuple[JsonObject, ...]) -> dict[str, JsonObject]:
        bodies: dict[str, JsonObject] = {}
        for head in heads:
            name = name_of(head)
            if _is_rendered(head):
                continue
            known = self._bodies.get(name)
            if known is not None and resource_version(head) and metadata(known) == metadata(head):
                bodies[name] = (
                    known  # all metadata: after a restore of etcd a version may come again with other content
                )
                continue
            try:
                bodies[name] = self._api.get(self._cluster, MACHINE_CONFIG, name)
            except NotFoundError:
                continue  # deleted between the list and now; the next look shows what follows from it
        self._bodies = bodies
        return bodies

    def _read_needed(self, live: LiveCluster, nodes: Fact, interest: Interest) -> LiveCluster:
        """Rendered configs and nodes that the verdicts on the pools lack; `nodes` as they were read before."""
        if isinstance(live.pools, Unknown):
            return live
        pools = live.pools.value
        live = replace(live, nodes=self._not_needed(nodes))
        if interest.nodes is NodeReading.ALWAYS:
            live = replace(live, nodes=self._fact(nodes, self._nodes))
        asked: set[str] = set()
        for _ in range(_ROUNDS):
            needs = needs_for_pools(live, pools)
            wanted = (needs.rendered | _of_nodes(live)) - asked - self._rendered.keys()
            if (
                needs.nodes is NodeNeed.LACKING
                and "nodes" not in asked
                and interest.nodes is NodeReading.WHEN_NEEDED
            ):
                asked.add("nodes")
                live = replace(live, nodes=self._fact(nodes, self._nodes))
            elif not wanted:
                break
            asked |= wanted
            if wanted:
                live = replace(live, rendered=self._read_rendered(live.rendered, wanted))
        return live

    def _not_needed(self, nodes: Fact) -> Unknown:
        """Since when they were not read any more: the first look that did not need them."""
        if isinstance(nodes, Unknown) and nodes.reason == NOT_NEEDED:
            return nodes
        return Unknown(NOT_NEEDED, self._clock.now())

    def _read_rendered(self, before: Fact, names: set[str] | frozenset[str]) -> Fact:
        for name in sorted(names):
            try:
                self._rendered[name] = self._api.get(self._cluster, MACHINE_CONFIG, name)
            except NotFoundError:
                continue
            except GitopsMcError as error:
                return Unknown(error.message, self._clock.now())
        return Known(unmoved(before, objects(self._rendered)), self._clock.now())

    def _fact(self, before: Fact, read: Callable[[], Mapping[str, JsonObject]]) -> Fact:
        try:
            return Known(unmoved(before, objects(read())), self._clock.now())
        except GitopsMcError as error:
            return Unknown(error.message, self._clock.now())

    def _nodes(self) -> Mapping[str, JsonObject]:
        return {name_of(n): n for n in self._api.list(self._cluster, RESOURCES["Node"])}

    def _components(self) -> Mapping[str, JsonObject]:
        found: dict[str, JsonObject] = {}
        for key in (CONTROLLER, DAEMON):
            kind, _, name = key.partition("/")
            try:
                found[key] = self._api.get(
                    self._cluster, RESOURCES[kind], name, namespace=COMPONENT_NAMESPACE
                )
            except NotFoundError:
                continue
        return found

    def _releases(self) -> Mapping[str, JsonObject]:
        try:
            found = self._api.list(self._cluster, RESOURCES["AppRelease"], namespace=COMPONENT_NAMESPACE)
        except NotFoundError:
            return {}
        return {name_of(r): r for r in found}

    def _dark(self, live: LiveCluster, error: GitopsMcError) -> Dark:
        since = live.dark.since if live.dark is not None else self._clock.now()
        return Dark(error.message, outage_of(error), since)


@dataclass(frozen=True, slots=True)
class Platform:
    """What stands on global for the whole fleet: modules, what is published, which clusters are registered."""

    modules: Fact
    catalog: Fact
    inventory: Fact
    dark: Dark | None = None


def no_platform(now: datetime) -> Platform:
    unknown = Unknown("not read yet", now)
    return Platform(unknown, unknown, unknown)


def read_platform(api: ClusterApi, clock: Clock, before: Platform) -> Platform:
    """One look at global for all clusters. Never raises for what global does."""
    try:
        modules = api.list(GLOBAL_CLUSTER, RESOURCES["ModuleInfo"])
        plugins = api.list(GLOBAL_CLUSTER, RESOURCES["ModulePlugin"])
        configs = api.list(GLOBAL_CLUSTER, RESOURCES["ModuleConfig"])
        clusters = api.list(GLOBAL_CLUSTER, RESOURCES["Cluster"])
    except GitopsMcError as error:
        now = clock.now()
        since = before.dark.since if before.dark is not None else now
        unknown = Unknown(error.message, since)
        return Platform(unknown, unknown, unknown, Dark(error.message, outage_of(error), since))
    at = clock.now()
    catalog = {f"ModulePlugin/{name_of(p)}": p for p in plugins} | {
        f"ModuleConfig/{name_of(c)}": c for c in configs
    }
    return Platform(
        modules=Known(unmoved(before.modules, objects({name_of(m): m for m in modules})), at),
        catalog=Known(unmoved(before.catalog, objects(catalog)), at),
        inventory=Known(unmoved(before.inventory, objects({name_of(c): c for c in clusters})), at),
    )


def joined(live: LiveCluster, platform: Platform) -> LiveCluster:
    """A cluster with its part of what stands on global."""
    return replace(
        live,
        modules=_of_cluster(platform.modules, live.name, cluster_of),
        catalog=platform.catalog,
        inventory=_of_cluster(platform.inventory, live.name, name_of),
    )


def outage_of(error: GitopsMcError) -> Outage:
    match error:
        case UnauthorizedError() | ForbiddenError():
            return Outage.DENIED
        case _ if error.transient:
            return Outage.UNREACHABLE
        case _:
            return Outage.OTHER


def _of_cluster(fact: Fact, cluster: str, of: Callable[[JsonObject], str]) -> Fact:
    if isinstance(fact, Unknown):
        return fact
    part = _PARTS.get(
        (fact.value,),
        (cluster, of),
        lambda: objects({n: o for n, o in fact.value.items() if of(o) == cluster}),
    )
    return Known(part, fact.at)


_PARTS: Remembered[Objects] = Remembered()


def _is_rendered(head: JsonObject) -> bool:
    return name_of(head).startswith(("rendered-", "render-"))


def _of_nodes(live: LiveCluster) -> frozenset[str]:
    """Rendered configs that nodes stand at or are moved to."""
    if isinstance(live.nodes, Unknown):
        return frozenset()
    nodes = [read_node(node) for node in live.nodes.value.values()]
    return frozenset(name for node in nodes for name in (node.current, node.desired) if name)
