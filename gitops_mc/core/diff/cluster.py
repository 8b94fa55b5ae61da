"""The diff of one cluster: every manifest against its live object, and every live object that Git does not name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from gitops_mc.core.diff.case import Fleet, Unchanged
from gitops_mc.core.diff.changes import (
    Adopt,
    Change,
    ClusterDiff,
    Create,
    Delete,
    Drift,
    NewerLive,
    NotRead,
    Orphan,
    Refused,
    Update,
    Written,
)
from gitops_mc.core.diff.gone import gone_from_git
from gitops_mc.core.diff.identity import module_of
from gitops_mc.core.diff.machine import diff_machine_object
from gitops_mc.core.diff.modules import diff_module
from gitops_mc.core.live import Fact, LiveCluster
from gitops_mc.core.model import DesiredCluster, JsonObject, Kind, Known, ResourceKey, Unknown

NOTHING_WINS: frozenset[ResourceKey] = frozenset()
NOTHING_PROVEN: frozenset[ResourceKey] = frozenset()

_T = TypeVar("_T")


def diff_cluster(
    desired: DesiredCluster,
    live: LiveCluster,
    inventory: Mapping[ResourceKey, Written],
    *,
    fleet: str,
    git_wins: frozenset[ResourceKey] = NOTHING_WINS,
    proven: frozenset[ResourceKey] = NOTHING_PROVEN,
) -> ClusterDiff:
    """Everything that differs between Git and one cluster.

    `inventory` is what the rollout remembers of the objects it wrote for this cluster; `fleet` the value of our
    label; `git_wins` the drifted objects of which a human has said that Git's side wins; `proven` those
    that passed as the inventory has them, and that we have not touched since.
    Of a kind that was not read nothing is said but that. Nothing is a candidate for deletion unless every kind was
    read and Git was read without an error.
    """
    context = Fleet(fleet, inventory, git_wins, proven)
    read = _read(live, inventory)
    findings: list[object] = list(read.not_read)
    for manifest in sorted(desired.manifests, key=lambda m: m.key):
        instances = read.objects.get(manifest.key.kind)
        if instances is None:
            continue
        found = instances.get(manifest.key, ())
        if manifest.key.kind is Kind.MODULE_INFO:
            findings += diff_module(manifest, found, context)
        else:
            findings.append(diff_machine_object(manifest, found[0] if found else None, context))
    lacking = _lacking(desired, live, read)
    for key, found in read.unnamed(desired):
        findings += gone_from_git(key, found, context, lacking)
    return _sorted_out(desired.name, findings)


@dataclass(frozen=True, slots=True)
class _Read:
    """Live objects by key, for the kinds that were read."""

    objects: Mapping[Kind, Mapping[ResourceKey, tuple[JsonObject, ...]]]
    not_read: tuple[NotRead, ...]

    def unnamed(self, desired: DesiredCluster) -> Iterator[tuple[ResourceKey, tuple[JsonObject, ...]]]:
        """Live objects that no manifest names."""
        named = {manifest.key for manifest in desired.manifests}
        for by_key in self.objects.values():
            for key in sorted(by_key):
                if key not in named:
                    yield key, by_key[key]


def _read(live: LiveCluster, inventory: Mapping[ResourceKey, Written]) -> _Read:
    objects: dict[Kind, dict[ResourceKey, tuple[JsonObject, ...]]] = {}
    not_read = []
    for kind, fact in _facts(live).items():
        match fact:
            case Unknown(reason, since):
                not_read.append(NotRead(kind, reason, since))
            case Known(value):
                objects[kind] = {}
                for name, body in value.items():
                    identity = module_of(body, live.name, inventory) if kind is Kind.MODULE_INFO else name
                    if identity is not None:
                        key = ResourceKey(live.name, kind, identity)
                        objects[kind][key] = (*objects[kind].get(key, ()), body)
    return _Read(objects, tuple(not_read))


def _facts(live: LiveCluster) -> Mapping[Kind, Fact]:
    """The fact each kind is in. Where discovery says that the machine kinds are not served, there are no objects."""
    facts: dict[Kind, Fact] = {
        Kind.MODULE_INFO: live.modules,
        Kind.MACHINE_CONFIGURATION: live.policies,
        Kind.MACHINE_CONFIG_POOL: live.pools,
        Kind.MACHINE_CONFIG: live.configs,
    }
    apis = live.machine_apis
    if isinstance(apis, Known) and not apis.value.served:
        nothing: Fact = Known({}, apis.at)
        return {kind: fact if kind is Kind.MODULE_INFO else nothing for kind, fact in facts.items()}
    return facts


def _lacking(desired: DesiredCluster, live: LiveCluster, read: _Read) -> str:
    """Why the two sides are not known well enough to say that something is gone from Git; empty when they are."""
    if desired.blocked:
        return "Git has problems for this cluster"
    if not desired.manifests:
        return "Git has no manifest for this cluster"
    if read.not_read:
        return f"{read.not_read[0].kind.value} was not read: {read.not_read[0].reason}"
    if live.dark is not None:
        return f"the cluster does not answer: {live.dark.reason}"
    return ""


def _sorted_out(cluster: str, findings: list[object]) -> ClusterDiff:
    def of(kind: type[_T]) -> tuple[_T, ...]:
        found = [finding for finding in findings if isinstance(finding, kind)]
        return tuple(sorted(found, key=_place))

    changes: list[Change] = [f for f in findings if isinstance(f, Create | Adopt | Update | Delete)]
    return ClusterDiff(
        cluster=cluster,
        changes=tuple(sorted(changes, key=_place)),
        drifts=of(Drift),
        orphans=of(Orphan),
        refusals=of(Refused),
        newer=of(NewerLive),
        not_read=of(NotRead),
        unchanged=tuple(found.key for found in of(Unchanged)),
    )


def _place(finding: object) -> tuple[int, str]:
    key = getattr(finding, "key", None)
    if isinstance(key, ResourceKey):
        return (key.kind.order, key.name)
    kind = getattr(finding, "kind", None)
    return (kind.order if isinstance(kind, Kind) else 0, "")
