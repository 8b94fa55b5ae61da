"""A repository at one revision -> what every cluster should be, with every problem and whom it blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from gitops_mc.core.desired.checking import CheckedCache, check_cluster
from gitops_mc.core.desired.checks import conflicts, doubles, emptiness, fleet_checks
from gitops_mc.core.desired.layout import Layout, sort_out
from gitops_mc.core.desired.objects import Candidate, for_cluster, read_home
from gitops_mc.core.desired.repository import Fault, Repository, SourceFile
from gitops_mc.core.fleetfile import FLEET_FILE, UNREAD, FleetFile, read_fleet_file
from gitops_mc.core.manifests import Cache
from gitops_mc.core.manifests.flaws import Flaw
from gitops_mc.core.model import (
    ClusterScope,
    DesiredCluster,
    FleetScope,
    Manifest,
    Place,
    Problem,
    ResourceKey,
    Scope,
    Severity,
    SharedScope,
    sorted_problems,
)
from gitops_mc.core.policy import DEFAULT_POLICY, FleetPolicy, Sensitive
from gitops_mc.core.rules import check_fleet

__all__ = ["Cache", "CheckedCache", "DesiredState", "SourceFile", "load"]


@dataclass(frozen=True, slots=True)
class DesiredState:
    """All that the repository says. Where `fleet_blocked` is true nothing may be done on the strength of it."""

    policy: FleetPolicy
    """DEFAULT_POLICY when fleet.yaml has an error."""
    clusters: tuple[DesiredCluster, ...]
    """By name; each with the problems that touch it."""
    problems: tuple[Problem, ...]
    unread: tuple[str, ...] = ()
    """Paths whose content was needed and not handed in. While there are any, nothing else is told: read them and load
    again."""
    sensitive: Sensitive = DEFAULT_POLICY.sensitive
    """What fleet.yaml says is sensitive, as far as it could be read: an error elsewhere in it must not uncover a secret."""

    @property
    def fleet_blocked(self) -> bool:
        return any(p.severity is Severity.ERROR and isinstance(p.scope, FleetScope) for p in self.problems)

    def cluster(self, name: str) -> DesiredCluster | None:
        return next((cluster for cluster in self.clusters if cluster.name == name), None)


def load(
    files: Sequence[SourceFile], *, cache: Cache, checked_cache: CheckedCache | None = None
) -> DesiredState:
    """Read a whole repository. Never raises: what is wrong is a problem with a place, a scope and a hint.

    `cache` holds parsed files by blob id, `checked_cache` what the rules said about each cluster; both belong to the
    caller and are filled here. A file whose blob is in `cache` needs no data. Bodies are shared between clusters and
    with the cache: never change them.
    """
    repository = Repository({file.path: file for file in files})
    fleet = _fleet_file(repository)
    layout = sort_out(repository, fleet.draft.ignore)
    problems = [*(flaw.in_file(FLEET_FILE, FleetScope()) for flaw in fleet.flaws), *layout.problems]
    by_scope: dict[Scope, list[Candidate]] = defaultdict(list)
    for home in layout.manifests:
        for candidate in read_home(home, repository, cache, problems):
            by_scope[home.scope].append(candidate)
    if repository.unread:
        return DesiredState(DEFAULT_POLICY, (), (_incomplete(),), tuple(sorted(repository.unread)))
    problems.extend(emptiness(layout, [c for candidates in by_scope.values() for c in candidates]))
    if fleet.policy is fleet.draft:
        problems.extend(fleet_checks(fleet, layout))
    for scope, candidates in by_scope.items():
        problems.extend(doubles(candidates, scope))
    clusters = _clusters(fleet, layout, by_scope, {} if checked_cache is None else checked_cache, problems)
    problems.extend(check_fleet([cluster for cluster, _ in clusters]))
    found = sorted_problems(problems)
    return DesiredState(fleet.policy, _with_problems(clusters, found), found, sensitive=fleet.draft.sensitive)


def _incomplete() -> Problem:
    message = "the repository has not been read to its end"
    return Problem(
        Place(""), "source-unread", "", message, "read the files that are named, and load again", FleetScope()
    )


def _clusters(
    fleet: FleetFile,
    layout: Layout,
    by_scope: Mapping[Scope, list[Candidate]],
    cache: CheckedCache,
    problems: list[Problem],
) -> list[tuple[DesiredCluster, tuple[str, ...]]]:
    """Every cluster, without its problems, and the shared sets it uses."""
    found = []
    for name in layout.members:
        uses = _uses(fleet.draft, name)
        homes: list[Scope] = [ClusterScope(name), *(SharedScope(path) for path in uses)]
        candidates = [c for scope in homes if scope in by_scope for c in by_scope[scope]]
        problems.extend(conflicts(name, candidates))
        one = check_cluster(
            name,
            _manifests(name, candidates),
            fleet.draft.cluster_labels.get(name, MappingProxyType({})),
            origins=tuple((c.place, c.blob) for c in candidates),
            policy=fleet.policy,
            cache=cache,
        )
        problems.extend(one.problems)
        found.append((one.cluster, uses))
    for name in [name for name in cache if name not in layout.members]:
        del cache[name]
    return found


def _fleet_file(repository: Repository) -> FleetFile:
    if FLEET_FILE not in repository.files:
        return FleetFile()
    data = repository.payload("", FLEET_FILE)
    if isinstance(data, Fault):
        return FleetFile(UNREAD, (Flaw(0, 0, "file-unreadable", (), data.message, data.hint),))
    return read_fleet_file(data)


def _uses(policy: FleetPolicy, cluster: str) -> tuple[str, ...]:
    """The shared sets of a cluster, in the order of their paths."""
    labels = policy.cluster_labels.get(cluster, {})
    return tuple(
        sorted({shared.path for shared in policy.shared if shared.clusters.matches(cluster, labels)})
    )


def _manifests(cluster: str, candidates: list[Candidate]) -> tuple[Manifest, ...]:
    """One manifest an identity, ordered by key; of two the first by place is kept."""
    found: dict[ResourceKey, Manifest] = {}
    for candidate in candidates:
        manifest = for_cluster(candidate, cluster)
        found.setdefault(manifest.key, manifest)
    return tuple(found[key] for key in sorted(found, key=ResourceKey.sort_key))


def _with_problems(
    clusters: Iterable[tuple[DesiredCluster, tuple[str, ...]]], problems: Iterable[Problem]
) -> tuple[DesiredCluster, ...]:
    """Each cluster with its own problems, those of the sets it uses, and what blocks the whole fleet."""
    by_scope: dict[Scope, list[Problem]] = defaultdict(list)
    for problem in problems:
        if not isinstance(problem.scope, FleetScope) or problem.severity is Severity.ERROR:
            by_scope[problem.scope].append(problem)
    finished = []
    for cluster, uses in clusters:
        scopes: list[Scope] = [
            FleetScope(),
            ClusterScope(cluster.name),
            *(SharedScope(path) for path in uses),
        ]
        touching = [problem for scope in scopes for problem in by_scope.get(scope, ())]
        finished.append(replace(cluster, problems=tuple(sorted(touching, key=Problem.sort_key))))
    return tuple(finished)
