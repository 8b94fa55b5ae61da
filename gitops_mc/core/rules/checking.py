"""Running the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gitops_mc.core.live import LiveCluster
from gitops_mc.core.model import (
    BodyPath,
    ClusterScope,
    DesiredCluster,
    Manifest,
    Place,
    Problem,
    Scope,
    SharedScope,
    Unknown,
    dotted,
    sorted_problems,
)
from gitops_mc.core.policy import FleetPolicy
from gitops_mc.core.rules.merged import pool_views
from gitops_mc.core.rules.row import DesiredFacts, Hit, LiveFacts, LiveRule, Rule, ScopeKind
from gitops_mc.core.rules.table import LIVE_RULES, RULES


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A rule that could not be decided for want of a fact. Neither a problem nor the absence of one."""

    rule: str
    cluster: str
    reason: str


def check(cluster: DesiredCluster, policy: FleetPolicy) -> tuple[Problem, ...]:
    """All violations of the rules that the desired state alone decides, sorted by place."""
    facts = DesiredFacts(cluster, policy, pool_views(cluster))
    return sorted_problems([_problem(rule, hit, cluster.name) for rule in RULES for hit in rule.check(facts)])


def check_with_facts(
    cluster: DesiredCluster, policy: FleetPolicy, live: LiveCluster
) -> tuple[Problem | NotChecked, ...]:
    """What the rules that need facts about the live cluster say: problems by place, then what was not checked.

    The rules of `check` are not run again.
    """
    facts = LiveFacts(cluster, policy, live)
    problems: list[Problem] = []
    undecided: list[NotChecked] = []
    for rule in LIVE_RULES:
        missing = tuple(_missing(rule, live))
        if missing:
            undecided.append(NotChecked(rule.id, cluster.name, f"not checked: {'; '.join(missing)}"))
        else:
            problems.extend(_problem(rule, hit, cluster.name) for hit in rule.check(facts))
    return (*sorted_problems(problems), *undecided)


def _missing(rule: LiveRule, live: LiveCluster) -> Iterator[str]:
    for fact in rule.needs:
        value = getattr(live, fact.value)
        if isinstance(value, Unknown):
            yield f"{fact.value} of cluster {live.name} not known: {value.reason}"


def _problem(rule: Rule | LiveRule, hit: Hit, cluster: str) -> Problem:
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
