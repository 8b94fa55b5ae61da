"""What can only be seen with the whole repository in view: doubles, conflicts, and fleet.yaml against the folders."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from gitops_mc.core.desired.layout import CLUSTERS, Layout
from gitops_mc.core.desired.objects import Candidate
from gitops_mc.core.desired.window_checks import window_checks
from gitops_mc.core.fleetfile import FLEET_FILE, FleetFile
from gitops_mc.core.model import ClusterScope, FleetScope, Place, Problem, Scope, Severity
from gitops_mc.core.policy import ClusterSelector, FleetPolicy


def doubles(candidates: Iterable[Candidate], scope: Scope) -> Iterator[Problem]:
    """Two objects with one identity in one folder."""
    first: dict[tuple[str, str], Candidate] = {}
    for candidate in sorted(candidates, key=lambda c: c.place):
        other = first.setdefault((candidate.kind, candidate.name), candidate)
        if other is not candidate:
            yield _double(candidate, other, scope)


def conflicts(cluster: str, candidates: Iterable[Candidate]) -> Iterator[Problem]:
    """An identity that comes to one cluster from two folders; the cluster's own candidates come first."""
    first: dict[tuple[str, str], Candidate] = {}
    for candidate in candidates:
        other = first.setdefault((candidate.kind, candidate.name), candidate)
        if other.scope != candidate.scope:
            yield _double(candidate, other, ClusterScope(cluster))


def _double(candidate: Candidate, other: Candidate, scope: Scope) -> Problem:
    return candidate.problem(
        (),
        "manifest-double",
        f"{candidate.kind} {candidate.name} stands at {candidate.place} and at {other.place}",
        "one object has one manifest: remove or rename one of the two",
        scope=scope,
    )


def emptiness(layout: Layout, found: Collection[Candidate]) -> Iterator[Problem]:
    """A repository that says nothing is a slip (a wrong branch, a wrong path), never an empty fleet."""
    message = None
    if not layout.members:
        message = f"there is no folder below {CLUSTERS}/"
    elif not found:
        message = "there is not one manifest in the repository"
    if message is not None:
        hint = "is it the right repository, branch and folder? An empty one is never rolled out"
        yield Problem(Place(CLUSTERS), "layout-empty", "", message, hint, FleetScope())


def fleet_checks(fleet: FleetFile, layout: Layout) -> Iterator[Problem]:
    """What fleet.yaml says about folders and clusters, against what is there."""
    yield from _shared_sets(fleet, layout)
    yield from _unused_sets(fleet, layout)
    yield from _folderless(fleet, layout)
    yield from _waveless(fleet, layout)
    yield from window_checks(fleet, layout.members)


def _shared_sets(fleet: FleetFile, layout: Layout) -> Iterator[Problem]:
    for number, shared in enumerate(fleet.draft.shared):
        path = ("spec", "shared", number)
        if shared.path not in layout.shared_sets:
            yield Problem(
                fleet.place(*path, "path"),
                "fleet-shared-missing",
                f"spec.shared[{number}].path",
                f"there is no folder {shared.path}",
                "mend the path; to drop the set, remove the entry",
                FleetScope(),
            )
        elif not any(_matches(fleet.draft, shared.clusters, name) for name in layout.members):
            yield _warning(
                fleet.place(*path, "clusters"),
                "fleet-shared-unused",
                f"spec.shared[{number}].clusters",
                f"no cluster is selected for {shared.path}",
                "mend the selector",
            )


def _unused_sets(fleet: FleetFile, layout: Layout) -> Iterator[Problem]:
    used = {shared.path for shared in fleet.draft.shared}
    for unused in layout.shared_sets:
        if unused not in used:
            yield _warning(
                Place(unused),
                "fleet-shared-unused",
                "",
                f"no entry of `shared` in {FLEET_FILE} selects {unused}, so no cluster has it",
                "add it to `shared`",
            )


def _folderless(fleet: FleetFile, layout: Layout) -> Iterator[Problem]:
    for number, name in enumerate(fleet.draft.cluster_labels):
        if name not in layout.members:
            yield _warning(
                fleet.place("spec", "clusters", number),
                "fleet-cluster-missing",
                f"spec.clusters[{number}]",
                f"{name} has no folder below {CLUSTERS}/, so nothing is done for it",
                f"add a file to {CLUSTERS}/{name}/ (a README will do), or remove the entry",
            )


def _waveless(fleet: FleetFile, layout: Layout) -> Iterator[Problem]:
    waves = fleet.draft.rollout.waves
    for name in layout.members if waves is not None else ():
        if not any(_matches(fleet.draft, wave.clusters, name) for wave in waves or ()):
            yield Problem(
                fleet.place("spec", "rollout", "waves"),
                "fleet-no-wave",
                "spec.rollout.waves",
                f"{name} is in no wave",
                "add it to a wave, or end the waves with one that has `clusters: {}`",
                ClusterScope(name),
            )


def _matches(policy: FleetPolicy, selector: ClusterSelector, name: str) -> bool:
    return selector.matches(name, policy.cluster_labels.get(name, {}))


def _warning(place: Place, rule: str, field: str, message: str, hint: str) -> Problem:
    return Problem(place, rule, field, message, hint, FleetScope(), Severity.WARNING)
