"""Live state of one cluster, as facts with an age. Everything a verdict needs, and nothing that was not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias

from gitops_mc.core.model import JsonObject, Known, Outage, Unknown

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


def objects(items: Mapping[str, JsonObject]) -> Objects:
    """Read-only and ordered by name."""
    return MappingProxyType(dict(sorted(items.items())))


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
