"""What a rule is: one row of the table, and what its check sees and says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from gitops_mc.core.ignition import Effective
from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import BodyPath, DesiredCluster, JsonObject, Kind, Manifest, Severity
from gitops_mc.core.policy import FleetPolicy


class ScopeKind(StrEnum):
    """Who is blocked by a hit of a rule."""

    MANIFEST = "manifest"
    """Where the manifest stands: its shared set, and so every cluster that uses it, or its cluster."""
    CLUSTER = "cluster"
    """The cluster at hand only: the hit comes from what that cluster puts together."""
    FLEET = "fleet"
    """Several clusters, none of which is the one that is wrong."""


class LiveFact(StrEnum):
    """A fact about the live cluster that a rule needs; the value is the field of `LiveCluster`."""

    CONFIGS = "configs"
    POOLS = "pools"
    NODES = "nodes"
    MODULES = "modules"
    CATALOG = "catalog"
    INVENTORY = "inventory"


@dataclass(frozen=True, slots=True)
class Source:
    """A public page that says so."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One violation: the manifest, the path in its body, what is wrong, and what to do about it."""

    manifest: Manifest
    path: BodyPath
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class PoolView:
    """A pool known from the repository, the configs it selects, by name, and what they merge to in either order."""

    pool: str
    configs: tuple[Manifest, ...]
    by_name: Effective
    role_first: Effective


@dataclass(frozen=True, slots=True)
class DesiredFacts:
    """What a rule about the desired state sees."""

    cluster: DesiredCluster
    policy: FleetPolicy
    pools: tuple[PoolView, ...]


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """What a rule about the live cluster sees, beside the desired state. The facts it needs are Known."""

    cluster: DesiredCluster
    policy: FleetPolicy
    live: LiveCluster


@dataclass(frozen=True, slots=True)
class FleetFacts:
    """What a rule about the fleet sees: every cluster of the repository."""

    clusters: tuple[DesiredCluster, ...]


DesiredCheck: TypeAlias = Callable[[DesiredFacts], Iterator[Hit]]
LiveCheck: TypeAlias = Callable[[LiveFacts], Iterator[Hit]]
FleetCheck: TypeAlias = Callable[[FleetFacts], Iterator[Hit]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that the desired state alone decides."""

    id: str
    sentence: str
    """What must hold."""
    severity: Severity
    scope: ScopeKind
    source: Source
    check: DesiredCheck


@dataclass(frozen=True, slots=True)
class LiveRule:
    """A rule that needs facts about the live cluster; without one of them it answers "not checked"."""

    id: str
    sentence: str
    severity: Severity
    scope: ScopeKind
    source: Source
    needs: tuple[LiveFact, ...]
    check: LiveCheck


@dataclass(frozen=True, slots=True)
class FleetRule:
    """A rule that only all clusters together decide. It always warns, so that no cluster waits for another one's folder."""

    id: str
    sentence: str
    scope: ScopeKind
    source: Source
    check: FleetCheck

    @property
    def severity(self) -> Severity:
        return Severity.WARNING


AnyRule: TypeAlias = Rule | LiveRule | FleetRule

Found: TypeAlias = Iterator[tuple[BodyPath, str, str]]
"""BodyPath, message and hint of what is wrong with one body."""


def each(kind: Kind, check: Callable[[JsonObject], Found]) -> DesiredCheck:
    """A check of one object's body, run for every manifest of a kind."""

    def run(facts: DesiredFacts) -> Iterator[Hit]:
        for manifest in facts.cluster.of_kind(kind):
            for path, message, hint in check(manifest.body):
                yield Hit(manifest, path, message, hint)

    return run


def every(check: Callable[[JsonObject], Found]) -> DesiredCheck:
    """A check of one object's body, run for every manifest whatever its kind."""

    def run(facts: DesiredFacts) -> Iterator[Hit]:
        for manifest in facts.cluster.manifests:
            for path, message, hint in check(manifest.body):
                yield Hit(manifest, path, message, hint)

    return run
