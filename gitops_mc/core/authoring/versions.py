"""Where a repository says which version of a module a cluster has, and which of these places a change touches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gitops_mc.core.desired import DesiredState
from gitops_mc.core.errors import RefusedError, UsageError
from gitops_mc.core.globs import name_matches
from gitops_mc.core.manifests.positions import Places
from gitops_mc.core.model import BodyPath, DesiredCluster, Kind, Manifest, Place, ResourceKey, count
from gitops_mc.core.raw import section
from gitops_mc.core.versions import compare_versions

_VERSION: BodyPath = ("spec", "version")
_WRITTEN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True, slots=True)
class VersionPlace:
    """One `spec.version`, for one cluster or for all that use a shared set."""

    place: Place
    """Of the field; its file is the one to edit."""
    line: int
    """Lines of the file before the document."""
    path: BodyPath
    """In the document."""
    version: str
    clusters: tuple[str, ...]

    def lowers_to(self, version: str) -> bool:
        return compare_versions(self.version, version) == 1


def as_version(text: str) -> str:
    """The text, where a manifest can have it as a version: rule module-version-form says what published ones look like, as a
    warning. Raises UsageError.
    """
    if not _WRITTEN.fullmatch(text):
        raise UsageError(f"{text!r} is no version", hint="write it like v4.3.0")
    return text


def version_places(
    state: DesiredState, module: str, globs: Sequence[str]
) -> tuple[tuple[VersionPlace, ...], tuple[RefusedError, ...]]:
    """By place; and why others cannot be changed: a shared set is meant for more clusters than are asked for, or the version does not
    stand there by itself. Raises UsageError where no cluster that is asked for has the module, or a glob matches none.
    """
    for glob in globs:
        if not any(name_matches(c.name, (glob,)) for c in state.clusters):
            there = ", ".join(c.name for c in state.clusters) or "none"
            raise UsageError(f"no cluster of the repository matches {glob}", hint=f"there are {there}")
    asked = frozenset(c.name for c in state.clusters if not globs or name_matches(c.name, globs))
    found: dict[Place, tuple[Manifest, list[str]]] = {}
    for cluster in state.clusters:
        manifest = _manifest(cluster, module)
        if manifest is not None:
            found.setdefault(manifest.place, (manifest, []))[1].append(cluster.name)
    places: list[VersionPlace] = []
    refused: list[RefusedError] = []
    for at in sorted(place for place, (_, users) in found.items() if asked.intersection(users)):
        manifest, names = found[at]
        try:
            places.append(_place(manifest, tuple(names), asked))
        except RefusedError as error:
            refused.append(error)
    if not places and not refused:
        raise UsageError(*_nothing(state, module, globs))
    return tuple(sorted(places, key=lambda one: one.place)), tuple(refused)


def _manifest(cluster: DesiredCluster, module: str) -> Manifest | None:
    return cluster.get(ResourceKey(cluster.name, Kind.MODULE_INFO, module))


def _place(manifest: Manifest, users: tuple[str, ...], asked: frozenset[str]) -> VersionPlace:
    others = [name for name in users if name not in asked]
    if others:
        raise RefusedError(
            f"{manifest.place.file} is for {', '.join(users)}, and {', '.join(others)} "
            f"{'was' if len(others) == 1 else 'were'} not asked for",
            hint="name all of them with --clusters, or give the cluster a manifest of its own",
        )
    places = manifest.places
    version = str(section(manifest.body, "spec").get("version", ""))
    if not isinstance(places, Places) or _VERSION not in places:
        raise RefusedError(
            f"{manifest.place}: spec.version does not stand in this manifest itself",
            hint="it comes from an alias, or is not there; change it by hand",
        )
    return VersionPlace(places[_VERSION], places.line, places.in_document(_VERSION), version, users)


def _nothing(state: DesiredState, module: str, globs: Sequence[str]) -> tuple[str]:
    modules = sorted({m.key.name for c in state.clusters for m in c.of_kind(Kind.MODULE_INFO)})
    where = f" of {count(len(globs), 'pattern')} of clusters" if globs else ""
    return (
        f"no cluster{where} has module {module} in the repository; there are {', '.join(modules) or 'none'}",
    )
