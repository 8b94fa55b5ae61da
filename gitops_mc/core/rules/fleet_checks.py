"""Rules about what the clusters of a fleet are to each other. They run on every reading of the repository: keep them cheap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gitops_mc.core.disruption import closest_policy
from gitops_mc.core.model import (
    MACHINE_CONFIG_MODULE,
    POLICY_NAME,
    BodyPath,
    DesiredCluster,
    Kind,
    Manifest,
    Place,
)
from gitops_mc.core.rules.files import wrong_with_path
from gitops_mc.core.rules.row import FleetFacts, Hit
from gitops_mc.core.rules.shapes import at, entries, text
from gitops_mc.core.versions import Version, parse_version

_TOLD = 3
_OLDEST = Version((), 0, ())
_POLICY = ("spec", "nodeDisruptionPolicy")


def one_version(facts: FleetFacts) -> Iterator[Hit]:
    """machine-config in one version everywhere; told once for each version that fewer clusters have than another."""
    using: dict[str, list[tuple[str, Manifest]]] = defaultdict(list)
    for cluster in facts.clusters:
        for manifest in cluster.of_kind(Kind.MODULE_INFO):
            version = text(at(manifest.body, "spec", "version"))
            if manifest.key.name == MACHINE_CONFIG_MODULE and version:
                using[version].append((cluster.name, manifest))
    if len(using) < 2:
        return
    most = max(using, key=lambda version: (len(using[version]), parse_version(version) or _OLDEST, version))
    for version, found in sorted(using.items()):
        if version != most:
            yield Hit(
                min((manifest for _, manifest in found), key=lambda manifest: manifest.place),
                ("spec", "version"),
                f"{MACHINE_CONFIG_MODULE} is {version} on {_some([name for name, _ in found])}, and {most} on "
                f"{len(using[most])} of {sum(map(len, using.values()))} clusters",
                "one version for every cluster of an environment; the waves of the rollout upgrade one after the other",
            )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return ", ".join(sorted(names)[:_TOLD]) + more


def entry_unused(facts: FleetFacts) -> Iterator[Hit]:
    """An entry of a policy for which no cluster that has the policy has a file or a unit. Over the fleet, for a policy in a
    shared set may well be of use to one cluster and not to the other.
    """
    users: dict[Place, tuple[Manifest, list[DesiredCluster]]] = {}
    for cluster in facts.clusters:
        for manifest in cluster.of_kind(Kind.MACHINE_CONFIGURATION):
            if manifest.key.name == POLICY_NAME:
                users.setdefault(manifest.place, (manifest, []))[1].append(cluster)
    for manifest, clusters in users.values():
        unused = _paths(manifest) | _names(manifest)
        paths = [name for what, name in unused if what == "file"]
        for config in _configs(clusters):
            if not unused:
                break
            for entry in _used(paths, config):
                unused.pop(entry, None)
        for (what, name), path in unused.items():
            yield Hit(
                manifest,
                path,
                f"no config in the repository has a {what} that the entry for {name} decides",
                "correct it, or remove it; one for a config that is not in Git may stay",
            )


_Entry = tuple[str, str]
"""`file` or `unit`, and the path or name of the entry."""


def _paths(manifest: Manifest) -> dict[_Entry, BodyPath]:
    """Those with a path that can decide for a file; rule `policy-path` speaks of the others."""
    found = [(where, text(e.get("path"))) for where, e in entries(manifest.body, *_POLICY, "files")]
    return {
        ("file", path): (*where, "path")
        for where, path in found
        if path not in ("", "/") and not wrong_with_path(path)
    }


def _names(manifest: Manifest) -> dict[_Entry, BodyPath]:
    found = entries(manifest.body, *_POLICY, "units")
    return {("unit", text(e.get("name"))): (*where, "name") for where, e in found if text(e.get("name"))}


def _configs(clusters: list[DesiredCluster]) -> Iterator[Manifest]:
    """The configs of these clusters; one of a shared set once."""
    seen: set[Place] = set()
    for cluster in clusters:
        for manifest in cluster.of_kind(Kind.MACHINE_CONFIG):
            if manifest.place not in seen:
                seen.add(manifest.place)
                yield manifest


def _used(paths: list[str], config: Manifest) -> Iterator[_Entry]:
    for _, file in entries(config.body, "spec", "config", "storage", "files") if paths else ():
        yield "file", closest_policy(text(file.get("path")), paths)
    for _, unit in entries(config.body, "spec", "config", "systemd", "units"):
        yield "unit", text(unit.get("name"))
