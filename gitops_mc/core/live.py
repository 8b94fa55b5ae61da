"""Live state of one cluster, as facts with an age. Everything a verdict needs, and nothing that was not read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias

from gitops_mc.core.model import JsonObject, Known, Outage, Unknown, resource_version, uid_of

Objects: TypeAlias = Mapping[str, JsonObject]
"""Objects of one kind by metadata.name, ordered by name."""

Fact: TypeAlias = "Known[Objects] | Unknown"


def nothing_read(since: datetime) -> Unknown:
    return Unknown("not read yet", since)


@dataclass(frozen=True, slots=True)
class MachineApis:
    """Whether the machine kinds are served: discovery answered, with or without the group."""

    served: bool


@dataclass(frozen=True, slots=True)
class Dark:
    """The cluster did not answer the last time it was asked. What was read before is kept, with its age."""

    reason: str
    kind: Outage
    since: datetime
    lift: str = ""
    """What somebody has to do so that it counts again; said only of one that is barred."""


@dataclass(frozen=True, slots=True)
class Barred:
    """Why nothing may be decided or written for a cluster, whatever it answers, and what somebody has to do about it."""

    reason: str
    lift: str


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """One cluster as it was last read through the gateway. Absent objects are absent from Known collections.

    `configs` has every MachineConfig the cluster has, with bodies, except rendered ones, which stand in `rendered`
    by name (only those a verdict needed). `modules` are this cluster's ModuleInfo objects (read on global), those being
    deleted included; the key is metadata.name.
    """

    name: str
    machine_apis: Known[MachineApis] | Unknown
    configs: Fact
    pools: Fact
    policies: Fact
    """MachineConfiguration objects; at most one, named `cluster`."""
    rendered: Fact
    nodes: Fact
    """Empty Known is "the cluster has no nodes"; nodes are read only while something needs them."""
    modules: Fact
    catalog: Fact
    """ModulePlugins and ModuleConfigs on global that concern this cluster's modules, key `<kind>/<name>`."""
    components: Fact
    """machine-config-controller and machine-config-daemon in cpaas-system, key `<kind>/<name>`."""
    inventory: Fact
    """This cluster's object of `clusters.platform.tkestack.io` (on global); empty: not registered."""
    releases: Fact
    """AppReleases of the cluster's modules; they only explain why a module is not ready."""
    dark: Dark | None = None

    def revealing(self) -> Iterator[tuple[str, Objects]]:
        """What was read, by the name of the fact, whose objects may hold what is sensitive: before anything is said of the cluster, a
        redactor learns them.
        """
        facts = {"configs": self.configs, "rendered": self.rendered, "modules": self.modules}
        for name, fact in facts.items():
            if not isinstance(fact, Unknown):
                yield name, fact.value

    def read(self) -> tuple[tuple[object, ...], tuple[object, ...]]:
        """What was read, without when: collections, to be told apart by identity, and what was not read, by value.

        Two looks for which both are the same lead to the same plan.
        """
        facts = (
            *(self.configs, self.pools, self.policies, self.rendered, self.nodes, self.modules),
            *(self.catalog, self.components, self.inventory, self.releases),
        )
        known = tuple(None if isinstance(fact, Unknown) else fact.value for fact in facts)
        unknown = tuple(fact for fact in facts if isinstance(fact, Unknown))
        apis = self.machine_apis if isinstance(self.machine_apis, Unknown) else self.machine_apis.value
        return known, (self.name, self.dark, apis, unknown)


def revealed(live: Iterable[LiveCluster]) -> Iterator[JsonObject]:
    """Every object of these clusters that may hold what is sensitive."""
    for cluster in live:
        for _, found in cluster.revealing():
            yield from found.values()


def objects(items: Mapping[str, JsonObject]) -> Objects:
    """Read-only and ordered by name."""
    return MappingProxyType(dict(sorted(items.items())))


def unmoved(before: Fact, now: Objects) -> Objects:
    """What was read, with every body that has not moved since as the object it was before, and the whole collection as
    it was where none has: what is worked out of a body is then worked out once (`gitops_mc.core.remembered`).

    Bodies are compared, not only their versions: where etcd was restored from a copy, versions run backwards, and one that
    was seen before the restore may come again with other content.
    """
    if isinstance(before, Unknown):
        return now
    earlier = before.value
    kept = {name: _as_before(earlier.get(name), body) for name, body in now.items()}
    same = len(kept) == len(earlier) and all(body is earlier.get(name) for name, body in kept.items())
    return earlier if same else objects(kept)


def _as_before(before: JsonObject | None, now: JsonObject) -> JsonObject:
    if before is None or before is now or not resource_version(now):
        return now
    if (uid_of(before), resource_version(before)) != (uid_of(now), resource_version(now)):
        return now
    return before if before == now else now


def unread(name: str, now: datetime) -> LiveCluster:
    """A cluster of which nothing has been read."""
    unknown = nothing_read(now)
    return LiveCluster(
        name=name,
        machine_apis=unknown,
        configs=unknown,
        pools=unknown,
        policies=unknown,
        rendered=unknown,
        nodes=unknown,
        modules=unknown,
        catalog=unknown,
        components=unknown,
        inventory=unknown,
        releases=unknown,
    )
