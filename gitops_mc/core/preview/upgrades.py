"""How a module gets from the version that runs to the one that Git wants, through what is published, or why there is no way.

What the platform would refuse is decided by the functions that the gate before a module's step asks, so that a way shown here is
a way that is gone. Fields of the catalog that are absent ask for nothing; constraints in words that nobody has documented are left
to the platform, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from gitops_mc.core.gates import (
    Outcome,
    installed_versions,
    live_modules,
    preflight,
    published_versions,
    upgrade_checks,
    upgrades_from,
)
from gitops_mc.core.live import LiveCluster, Objects
from gitops_mc.core.model import (
    DOWNGRADE_ANNOTATION,
    DesiredCluster,
    JsonObject,
    Kind,
    Manifest,
    Unknown,
)
from gitops_mc.core.model import count as counted
from gitops_mc.core.modules import is_core
from gitops_mc.core.plan import module_order
from gitops_mc.core.preview.changed import PullChanges
from gitops_mc.core.preview.hindrances import UpgradePath
from gitops_mc.core.preview.upgrade_notes import Together, dependencies_told, platform_told, step_told
from gitops_mc.core.raw import section, text
from gitops_mc.core.rollout.preview import FleetPreview
from gitops_mc.core.versions import compare_versions, newer, parse_version

_NAMED: Final = 5
"""Versions that are named where none of them helps."""
_OF_A_VERSION: Final = ("published", "affinity", "rivals")
"""Checks of the preflight that decide whether a version can be passed through; the others are of the step, or of the end."""


@dataclass(frozen=True, slots=True)
class _Way:
    """One module that is to be upgraded."""

    module: str
    live: str
    wanted: str
    published: Mapping[str, JsonObject]
    cluster: LiveCluster


def upgrades_of(outcome: FleetPreview, changes: PullChanges) -> Mapping[str, tuple[UpgradePath, ...]]:
    """By cluster the ways of the modules whose version the pull request changes; clusters without any are left out."""
    asked = {
        c.name: frozenset(m.module for m in c.modules if m.after and m.after != m.before)
        for c in changes.clusters
    }
    found = {
        c.name: upgrade_paths(c.desired, c.live, asked[c.name]) for c in outcome.clusters if asked.get(c.name)
    }
    return MappingProxyType({name: paths for name, paths in found.items() if paths})


def upgrade_paths(
    desired: DesiredCluster, live: LiveCluster, modules: Iterable[str] | None = None
) -> tuple[UpgradePath, ...]:
    """The ways of those `modules` (None: of all) that Git wants in another version than runs, in the order in which they are
    written.
    """
    order = module_order(desired, live)
    asked = frozenset(order if modules is None else modules)
    manifests = {m.key.name: m for m in desired.of_kind(Kind.MODULE_INFO)}
    installed = installed_versions(live)
    wanted = {name: _wanted(manifests[name]) for name in order}
    together = Together(wanted, installed or {}, order)
    found = (_path(manifests[name], live, together) for name in order if name in asked)
    return tuple(path for path in found if path.unknown or path.live != path.wanted)


def _wanted(manifest: Manifest) -> str:
    return text(section(manifest.body, "spec"), "version")


def _path(manifest: Manifest, live: LiveCluster, together: Together) -> UpgradePath:
    module, wanted = manifest.key.name, _wanted(manifest)
    nothing = UpgradePath(module, together.installed.get(module, ""), wanted, ())
    if isinstance(live.modules, Unknown):
        return replace(nothing, unknown=f"ModuleInfos were not read: {live.modules.reason}")
    if isinstance(live.catalog, Unknown):
        return replace(nothing, unknown=f"the catalog was not read: {live.catalog.reason}")
    way = _Way(module, nothing.live, wanted, published_versions(live.catalog.value, module), live)
    if way.live == wanted:
        return nothing
    infos = live_modules(live, module)
    found = _installation(way) if not way.live else _upgrade(manifest, way)
    told = [*found.told, *platform_told(infos)]
    blocked = found.blocked
    for step in found.steps:
        needs, lacking = dependencies_told(module, step, way.published.get(step), together)
        told += needs
        blocked = blocked or lacking
        told += step_told(infos, module, step, way.published.get(step), together)
    if way.live and _follows_the_cluster(infos, way, live.catalog.value):
        told.insert(
            0,
            "it follows the version of the cluster (life cycle Core) and is not upgraded by itself: upgrade the cluster, and "
            "write the version that it brings",
        )
        blocked = True
    return replace(found, told=tuple(dict.fromkeys(told)), blocked=blocked)


def _follows_the_cluster(infos: Sequence[JsonObject], way: _Way, catalog: Objects) -> bool:
    config = way.published.get(way.wanted, {})
    return is_core(*infos, config, catalog.get(f"ModulePlugin/{way.module}", {}))


# ------------------------------------------------------------------------------------------------------- kinds of ways


def _installation(way: _Way) -> UpgradePath:
    refused = tuple(_refused(way, way.wanted))
    steps = () if refused else (way.wanted,)
    return UpgradePath(way.module, "", way.wanted, steps, refused, blocked=bool(refused))


def _upgrade(manifest: Manifest, way: _Way) -> UpgradePath:
    order = compare_versions(way.live, way.wanted)
    if order in (-1, 0):
        return _upwards(way)
    allowed = manifest.annotations.get(DOWNGRADE_ANNOTATION) == way.wanted
    what = f"{way.wanted} is older than {way.live}, which runs"
    if order is None:
        what = f"nobody can tell whether {way.wanted} is newer than {way.live}, which runs"
    if not allowed:
        told = f'{what}: it is not done unless the manifest says {DOWNGRADE_ANNOTATION}: "{way.wanted}"'
        return UpgradePath(way.module, way.live, way.wanted, (), (told,), blocked=order is None)
    refused = tuple(_refused(way, way.wanted))
    told = f"{what}: it is asked for by name, and whether the platform goes back is not known"
    steps = () if refused else (way.wanted,)
    return UpgradePath(way.module, way.live, way.wanted, steps, (told, *refused), blocked=bool(refused))


def _upwards(way: _Way) -> UpgradePath:
    refused = tuple(_refused(way, way.wanted))
    if refused:
        return UpgradePath(way.module, way.live, way.wanted, (), refused, blocked=True)
    steps = _shortest(way, (Outcome.MET,)) or _shortest(way, (Outcome.MET, Outcome.UNCHECKED))
    if not steps:
        return UpgradePath(way.module, way.live, way.wanted, (), (_no_way(way),), blocked=True)
    told = list(_left_to_the_platform(way, steps))
    if len(steps) > 1:
        told.insert(0, _go_first(way, steps))
    return UpgradePath(way.module, way.live, way.wanted, steps, tuple(told), blocked=len(steps) > 1)


def _refused(way: _Way, version: str) -> Iterator[str]:
    """Why this version cannot be had on the cluster at all, wherever one comes from."""
    for check in preflight(way.cluster, way.module, version):
        of_it = check.name == "plugin" or check.name in _OF_A_VERSION
        if of_it and check.outcome in (Outcome.REFUSED, Outcome.PENDING, Outcome.NOT_KNOWN):
            yield f"{version}: {check.reason}"


# ----------------------------------------------------------------------------------------------------- the shortest way


def _shortest(way: _Way, admitted: tuple[Outcome, ...]) -> tuple[str, ...]:
    """The way of the fewest steps through what is published, in each of them to the newest version; empty: there is none."""
    between = [v for v in way.published if _is_between(way, v) and not any(_refused(way, v))]
    newest_first = [way.wanted, *_newest_first(between)]
    seen = {way.live}
    ways: list[tuple[str, tuple[str, ...]]] = [(way.live, ())]
    while ways:
        further: list[tuple[str, tuple[str, ...]]] = []
        for at, gone in ways:
            for version in newest_first:
                last = version == way.wanted
                onwards = version not in seen and (last or newer(version, at) is True)
                if not onwards or _step(way, at, version) not in admitted:
                    continue
                if last:
                    return (*gone, version)
                seen.add(version)
                further.append((version, (*gone, version)))
        ways = further
    return ()


def _is_between(way: _Way, version: str) -> bool:
    return newer(version, way.live) is True and newer(way.wanted, version) is True


def _newest_first(versions: Iterable[str]) -> list[str]:
    """Of versions that can be compared."""
    known = [(version, text) for text in versions if (version := parse_version(text)) is not None]
    return [text for _, text in sorted(known, reverse=True)]


def _step(way: _Way, live: str, version: str) -> Outcome:
    found = [check.outcome for check in upgrade_checks(way.published.get(version), version, live)]
    return found[0] if found else Outcome.MET


# --------------------------------------------------------------------------------------------------------------- words


def _go_first(way: _Way, steps: Sequence[str]) -> str:
    then = f", then to {', then to '.join(steps[1:])}" if len(steps) > 2 else ""
    return (
        f"not in one step: {way.wanted} can be reached from {upgrades_from(way.published[way.wanted])}, live is "
        f"{way.live}; go to {steps[0]} first{then}, each in a commit of its own"
    )


def _no_way(way: _Way) -> str:
    told = f"{way.wanted} can be reached from {upgrades_from(way.published[way.wanted])}, live is {way.live}"
    between = _newest_first(v for v in way.published if _is_between(way, v))
    if not between:
        return f"{told}, and nothing between the two is published: upload a version that {way.wanted} can be reached from"
    closed = [f"{v} ({_closed(way, v)})" for v in between[:_NAMED]]
    more = f" and {counted(len(between) - _NAMED, 'more version')}" if len(between) > _NAMED else ""
    return f"{told}, and no way leads through {', '.join(closed)}{more}: upload a version that closes the gap"


def _closed(way: _Way, version: str) -> str:
    refused = next(_refused(way, version), "")
    return refused.removeprefix(f"{version}: ") or f"from {upgrades_from(way.published[version]) or 'any'}"


def _left_to_the_platform(way: _Way, steps: Sequence[str]) -> Iterator[str]:
    for at, version in zip((way.live, *steps), steps, strict=False):
        if _step(way, at, version) is Outcome.UNCHECKED:
            yield (
                f"whether {version} can be reached from {at} is left to the platform: its catalog says "
                f'"{upgrades_from(way.published[version])}"'
            )
