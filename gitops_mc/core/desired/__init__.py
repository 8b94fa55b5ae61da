"""A repository at one revision -> what every cluster should be, with every problem and whom it blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from gitops_mc.core.desired.checks import conflicts, doubles, emptiness, fleet_checks
from gitops_mc.core.desired.layout import Layout, is_manifest_path, sort_out
from gitops_mc.core.desired.objects import Candidate, for_cluster, read_home
from gitops_mc.core.desired.repository import Fault, Repository, SourceFile
from gitops_mc.core.fleetfile import FLEET_FILE, FleetFile, read_fleet_file
from gitops_mc.core.manifests import Cache
from gitops_mc.core.manifests.flaws import Flaw
from gitops_mc.core.model import (
    ClusterScope,
    DesiredCluster,
    FleetScope,
    Manifest,
    Problem,
    ResourceKey,
    Scope,
    Severity,
    SharedScope,
    content_of,
    sorted_problems,
)
from gitops_mc.core.policy import FleetPolicy
from gitops_mc.core.rules import check

__all__ = ["Cache", "DesiredState", "SourceFile", "is_manifest_path", "load"]


@dataclass(frozen=True, slots=True)
class DesiredState:
    """All that the repository says. Where `fleet_blocked` is true nothing may be done on the strength of it."""

    policy: FleetPolicy
    """DEFAULT_POLICY when fleet.yaml has an error."""
    clusters: tuple[DesiredCluster, ...]
    """By name; each with the problems that touch it."""
    problems: tuple[Problem, ...]
    unread: tuple[str, ...] = ()
    """Paths whose content was needed and not handed in. While there are any the state is not complete: read them and
    load again."""

    @property
    def fleet_blocked(self) -> bool:
        return any(p.severity is Severity.ERROR and isinstance(p.scope, FleetScope) for p in self.problems)

    def cluster(self, name: str) -> DesiredCluster | None:
        return next((cluster for cluster in self.clusters if cluster.name == name), None)


def load(files: Sequence[SourceFile], *, cache: Cache) -> DesiredState:
    """Read a whole repository. Never raises: what is wrong is a problem with a place, a scope and a hint.

    `cache` holds parsed files by blob id; it belongs to the caller and is filled here. A file whose blob is in it
    needs no data. Bodies are shared between clusters and with the cache: never change them.
    """
    repository = Repository({file.path: file for file in files})
    fleet = _fleet_file(repository)
    layout = sort_out(repository, fleet.draft.ignore)
    problems = [*(flaw.in_file(FLEET_FILE, FleetScope()) for flaw in fleet.flaws), *layout.problems]
    by_scope: dict[Scope, list[Candidate]] = defaultdict(list)
    for home in layout.manifests:
        for candidate in read_home(home, repository, cache, problems):
            by_scope[home.scope].append(candidate)
    problems.extend(emptiness(layout, any(by_scope.values())))
    if fleet.policy is fleet.draft:
        problems.extend(fleet_checks(fleet, layout))
    for scope, candidates in by_scope.items():
        problems.extend(doubles(candidates, scope))
    uses = _uses(fleet.draft, layout)
    clusters = []
    for name in layout.members:
        labels = fleet.draft.cluster_labels.get(name, MappingProxyType({}))
        sets = [SharedScope(path) for path in uses[name]]
        homes: list[Scope] = [ClusterScope(name), *sets]
        candidates = [c for scope in homes if scope in by_scope for c in by_scope[scope]]
        manifests = _manifests(name, candidates, problems)
        clusters.append(DesiredCluster(name, manifests, content_of(manifests), (), labels))
    if not repository.unread:
        problems.extend(problem for cluster in clusters for problem in check(cluster, fleet.policy))
    found = sorted_problems(problems)
    return DesiredState(
        policy=fleet.policy,
        clusters=tuple(replace(c, problems=_touching(c.name, uses[c.name], found)) for c in clusters),
        problems=found,
        unread=tuple(sorted(repository.unread)),
    )


def _fleet_file(repository: Repository) -> FleetFile:
    if FLEET_FILE not in repository.files:
        return FleetFile()
    data = repository.payload("", FLEET_FILE)
    if isinstance(data, Fault):
        return FleetFile(flaws=(Flaw(0, 0, "file-unreadable", (), data.message, data.hint),))
    return read_fleet_file(data)


def _uses(policy: FleetPolicy, layout: Layout) -> Mapping[str, tuple[str, ...]]:
    """The shared sets of each cluster, in the order of their paths."""
    return {
        name: tuple(
            sorted(
                {
                    shared.path
                    for shared in policy.shared
                    if shared.clusters.matches(name, policy.cluster_labels.get(name, {}))
                }
            )
        )
        for name in layout.members
    }


def _manifests(cluster: str, candidates: list[Candidate], problems: list[Problem]) -> tuple[Manifest, ...]:
    """One manifest an identity, ordered by key; of two the first by place is kept and the other one is noted."""
    own = [c for c in candidates if c.shared_set is None]
    shared = [c for c in candidates if c.shared_set is not None]
    problems.extend(conflicts(cluster, own, shared))
    found: dict[ResourceKey, Manifest] = {}
    for candidate in candidates:
        manifest = for_cluster(candidate, cluster)
        found.setdefault(manifest.key, manifest)
    return tuple(found[key] for key in sorted(found))


def _touching(cluster: str, sets: tuple[str, ...], problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems of the cluster, of the sets it uses, and what blocks the whole fleet."""
    return tuple(p for p in problems if _touches(p, cluster, sets))


def _touches(problem: Problem, cluster: str, sets: tuple[str, ...]) -> bool:
    match problem.scope:
        case ClusterScope(name):
            return name == cluster
        case SharedScope(path):
            return path in sets
        case FleetScope():
            return problem.severity is Severity.ERROR
