"""Which file of the repository is what, by its path alone, and which paths are in nobody's place."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from gitops_mc.core.desired.repository import LINK, SUBMODULE, Repository, SourceFile, shown
from gitops_mc.core.fleetfile import FLEET_FILE
from gitops_mc.core.fleetfile.fields import is_dns_label
from gitops_mc.core.globs import path_matches
from gitops_mc.core.model import ClusterScope, FleetScope, Place, Problem, Scope, Severity, SharedScope

CLUSTERS: Final = "clusters"
SHARED: Final = "shared"
_PAYLOAD_FOLDER: Final = "files"
_SUFFIXES: Final = (".yaml", ".yml")
_ALMOST: Final = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Home:
    """Whose a file is: a cluster's, or a shared set's."""

    scope: ClusterScope | SharedScope
    file: SourceFile


@dataclass(frozen=True, slots=True)
class Layout:
    """The repository sorted out."""

    members: tuple[str, ...]
    """Clusters, by name: every folder below clusters/ with a valid name."""
    shared_sets: tuple[str, ...]
    manifests: tuple[Home, ...]
    """Manifest files by path; links are still links."""
    problems: tuple[Problem, ...]


def _is_manifest(file: SourceFile) -> bool:
    """Whether the file is read as a manifest, unless fleet.yaml ignores it."""
    parts = file.path.split("/")
    return (
        len(parts) > 2
        and file.mode != SUBMODULE
        and _PAYLOAD_FOLDER not in parts[1:-1]
        and file.path.endswith(_SUFFIXES)
        and shown(file.path) == file.path
    )


def sort_out(repository: Repository, ignore: tuple[str, ...]) -> Layout:
    """Look at every path once. `ignore` are globs of fleet.yaml; an ignored file still makes its folder a cluster."""
    members: set[str] = set()
    shared_sets: set[str] = set()
    manifests: list[Home] = []
    problems: list[Problem] = []
    by_folded: dict[str, str] = {}
    for path, file in sorted(repository.files.items()):
        parts = path.split("/")
        if parts[0] not in {CLUSTERS, SHARED}:
            problems.extend(_elsewhere(path, parts))
            continue
        ignored = path_matches(path, ignore)
        if len(parts) < 3 and file.mode not in {LINK, SUBMODULE}:
            problems.extend(() if ignored else _too_high(path, parts))
            continue
        scope = _scope(parts)
        if isinstance(scope, ClusterScope):
            members.add(scope.cluster)
        elif isinstance(scope, SharedScope):
            shared_sets.add(scope.path)
        if ignored:
            continue
        problems.extend(_odd(file, parts, scope, by_folded))
        if not isinstance(scope, FleetScope) and _is_manifest(file):
            manifests.append(Home(scope, file))
    problems.extend(problem for name in sorted(members) for problem in _bad_name(name))
    named = tuple(name for name in sorted(members) if is_dns_label(name))
    return Layout(named, tuple(sorted(shared_sets)), tuple(manifests), tuple(problems))


def _scope(parts: list[str]) -> Scope:
    if len(parts) < 2:
        return FleetScope()
    name = shown(parts[1])
    return ClusterScope(name) if parts[0] == CLUSTERS else SharedScope(f"{SHARED}/{name}")


def _odd(file: SourceFile, parts: list[str], scope: Scope, by_folded: dict[str, str]) -> Iterator[Problem]:
    """What is wrong with a path below clusters/ or shared/ before anything is read."""
    path = file.path
    say = _speaker(path, scope)
    if file.mode == SUBMODULE:
        yield say(
            "layout-submodule",
            "a submodule stands here; its files are not part of this repository",
            "copy the manifests into the repository",
        )
    elif len(parts) < 3 and file.mode == LINK:
        yield say(
            "layout-link", "a link stands where a folder should", "make it a folder, or link single files"
        )
    elif path.endswith(_SUFFIXES) and shown(path) != path:
        yield say("layout-path", "the path is not printable UTF-8; the file is not read", "rename the file")
    elif _PAYLOAD_FOLDER in parts[1:-1]:
        pass
    elif not path.endswith(_SUFFIXES) and path.lower().endswith(_ALMOST):
        yield say(
            "layout-suffix",
            "this file is not read: manifests end in .yaml or .yml",
            "rename it",
            Severity.WARNING,
        )
    folded = unicodedata.normalize("NFC", path).casefold()
    first = by_folded.setdefault(folded, path)
    if first != path:
        yield say(
            "layout-path",
            f"differs from {shown(first)} only in case or in the spelling of a character",
            "rename one of them: some file systems keep only one",
            Severity.WARNING,
        )


Speaker = Callable[..., Problem]


def _speaker(path: str, scope: Scope) -> Speaker:
    def say(rule: str, message: str, hint: str, severity: Severity = Severity.ERROR) -> Problem:
        return Problem(Place(shown(path)), rule, "", message, hint, scope, severity)

    return say


def _elsewhere(path: str, parts: list[str]) -> Iterator[Problem]:
    """Files outside the two trees are no concern of ours, unless they look like a slip."""
    say = _speaker(path, FleetScope())
    if parts[0] != FLEET_FILE and parts[0].lower() in {"fleet.yaml", "fleet.yml"}:
        yield say("layout-fleet-file", f"this file is not read: it must be called {FLEET_FILE}", "rename it")
    elif parts[0] == FLEET_FILE and len(parts) > 1:
        yield say("layout-fleet-file", f"{FLEET_FILE} is a folder", "make it a file, or remove it")
    elif len(parts) > 1 and path.endswith(_SUFFIXES):
        close = get_close_matches(parts[0].lower(), (CLUSTERS, SHARED), n=1, cutoff=0.8)
        if close:
            yield say(
                "layout-place",
                f"this file is not read: manifests stand below {CLUSTERS}/ and {SHARED}/",
                f"did you mean {close[0]}/?",
                Severity.WARNING,
            )


def _too_high(path: str, parts: list[str]) -> Iterator[Problem]:
    """A plain file where a folder should be, or right below clusters/ or shared/: it belongs to nobody."""
    say = _speaker(path, FleetScope())
    if len(parts) < 2:
        yield say("layout-place", "a file stands where a folder should", f"make {path} a folder")
    elif path.endswith(_SUFFIXES):
        folder = f"{parts[0]}/<{'cluster' if parts[0] == CLUSTERS else 'set'}>/"
        message = "this file is not read: it belongs to nobody"
        yield say("layout-place", message, f"move it into {folder}", Severity.WARNING)


def _bad_name(name: str) -> Iterator[Problem]:
    say = _speaker(f"{CLUSTERS}/{name}", ClusterScope(name))
    if not is_dns_label(name):
        yield say(
            "layout-cluster-name",
            f"{name!r} is no cluster name, so nothing is done for it",
            "rename the folder: lower-case letters, digits and `-`, at most 63",
        )
    elif name == _PAYLOAD_FOLDER:
        yield say(
            "layout-cluster-name",
            f"a folder called {_PAYLOAD_FOLDER} is payload and never read as manifests",
            "a cluster of that name cannot be managed from this layout",
        )
