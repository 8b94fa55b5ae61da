"""Running the table: what files alone decide."""

from __future__ import annotations

from collections.abc import Sequence

from gitops_mc.core.model import (
    BodyPath,
    ClusterScope,
    DesiredCluster,
    FleetScope,
    Manifest,
    Place,
    Problem,
    Scope,
    SharedScope,
    dotted,
    sorted_problems,
)
from gitops_mc.core.policy import FleetPolicy
from gitops_mc.core.rules.merged import pool_views
from gitops_mc.core.rules.row import AnyRule, DesiredFacts, FleetFacts, Hit, ScopeKind
from gitops_mc.core.rules.table import FLEET_RULES, RULES


def check(cluster: DesiredCluster, policy: FleetPolicy) -> tuple[Problem, ...]:
    """All violations of the rules that the desired state alone decides, sorted by place."""
    facts = DesiredFacts(cluster, policy, pool_views(cluster))
    return sorted_problems(
        [problem_of(rule, hit, cluster.name) for rule in RULES for hit in rule.check(facts)]
    )


def check_fleet(clusters: Sequence[DesiredCluster]) -> tuple[Problem, ...]:
    """What the rules about the fleet as a whole say, sorted by place. Warnings all of them: they block nobody."""
    facts = FleetFacts(tuple(clusters))
    return sorted_problems(
        [problem_of(rule, hit, hit.manifest.key.cluster) for rule in FLEET_RULES for hit in rule.check(facts)]
    )


def problem_of(rule: AnyRule, hit: Hit, cluster: str) -> Problem:
    """A violation with its place, and with the scope that its rule gives it."""
    return Problem(
        place=place_of(hit.manifest, hit.path),
        rule=rule.id,
        field=dotted(hit.path),
        message=hit.message,
        hint=hit.hint,
        scope=_scope(rule.scope, hit.manifest, cluster),
        severity=rule.severity,
    )


def _scope(kind: ScopeKind, manifest: Manifest, cluster: str) -> Scope:
    if kind is ScopeKind.FLEET:
        return FleetScope()
    if kind is ScopeKind.MANIFEST and manifest.shared_set is not None:
        return SharedScope(manifest.shared_set)
    return ClusterScope(cluster)


def place_of(manifest: Manifest, path: BodyPath) -> Place:
    """Where a path of the body stands: its own place, else its nearest ancestor's, else the manifest's."""
    while path:
        found = manifest.places.get(path)
        if found is not None:
            return found
        path = path[:-1]
    return manifest.place
