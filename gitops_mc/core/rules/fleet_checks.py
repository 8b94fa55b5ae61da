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
    JsonObject,
    Kind,
    Manifest,
    Place,
)
from gitops_mc.core.remembered import Remembered
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
        used = _used(manifest, _configs(clusters))
        for (what, name), path in _entries(manifest).items():
            if (what, name) in used:
                continue
            yield Hit(
                manifest,
                path,
                f"no config in the repository has a {what} that the entry for {name} decides",
                "correct it, or remove it; one for a config that is not in Git may stay",
            )


_Entry = tuple[str, str]
"""`file` or `unit`, and the path or name of the entry."""


def _entries(policy: Manifest) -> dict[_Entry, BodyPath]:
    """The entries, each with its place. Of paths those that can decide for a file; rule `policy-path` speaks of others."""
    found: dict[_Entry, BodyPath] = {}
    for where, entry in entries(policy.body, *_POLICY, "files"):
        path = text(entry.get("path"))
        if path not in ("", "/") and not wrong_with_path(path):
            found["file", path] = (*where, "path")
    for where, entry in entries(policy.body, *_POLICY, "units"):
        if text(entry.get("name")):
            found["unit", text(entry.get("name"))] = (*where, "name")
    return found


def _used(policy: Manifest, configs: tuple[Manifest, ...]) -> frozenset[_Entry]:
    """The entries that decide for something of these configs."""
    bodies = tuple(config.body for config in configs)
    return _USED.get((policy.body, *bodies), (), lambda: frozenset(_decided(policy, bodies)))


_USED: Remembered[frozenset[_Entry]] = Remembered(1024)


def _decided(policy: Manifest, bodies: tuple[JsonObject, ...]) -> Iterator[_Entry]:
    paths = [name for what, name in _entries(policy) if what == "file"]
    for body in bodies:
        for _, file in entries(body, "spec", "config", "storage", "files") if paths else ():
            yield "file", closest_policy(text(file.get("path")), paths)
        for _, unit in entries(body, "spec", "config", "systemd", "units"):
            yield "unit", text(unit.get("name"))


def _configs(clusters: list[DesiredCluster]) -> tuple[Manifest, ...]:
    """The configs of these clusters; one of a shared set once."""
    found: dict[Place, Manifest] = {}
    for cluster in clusters:
        for manifest in cluster.of_kind(Kind.MACHINE_CONFIG):
            found.setdefault(manifest.place, manifest)
    return tuple(found.values())
