"""Live objects that Git does not name: orphans, and among them the candidates for deletion."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.diff.case import Fleet
from gitops_mc.core.diff.changes import Delete, Orphan
from gitops_mc.core.diff.drifting import is_edited
from gitops_mc.core.diff.owners import owners_of
from gitops_mc.core.model import (
    APPLIED_ANNOTATION,
    FLEET_LABEL,
    MACHINE_CONFIG_MODULE,
    PRUNE_ANNOTATION,
    JsonObject,
    Kind,
    ResourceKey,
    annotations_of,
    being_deleted,
    is_protected_config,
    labels_of,
    name_of,
    resource_version,
    uid_of,
)
from gitops_mc.core.pools import BUILT_IN_POOLS


def gone_from_git(
    key: ResourceKey, found: tuple[JsonObject, ...], fleet: Fleet, lacking: str
) -> Iterator[Orphan | Delete]:
    """An orphan for each live object that is, or looks, ours, and a Delete beside it where it is a candidate.

    `lacking` is why Git and the cluster are not known well enough to delete anything; empty when they are.
    """
    for live in found:
        if not _looks_ours(key, live, fleet):
            continue
        reason = lacking or _kept_because(key, live, found, fleet)
        yield Orphan(key, name_of(live), uid_of(live), reason)
        if not reason:
            yield Delete(
                key,
                name_of(live),
                uid_of(live),
                resource_version(live),
                live,
                str(annotations_of(live).get(PRUNE_ANNOTATION, "")),
            )


def _looks_ours(key: ResourceKey, live: JsonObject, fleet: Fleet) -> bool:
    return (
        key in fleet.inventory
        or FLEET_LABEL in labels_of(live)
        or APPLIED_ANNOTATION in annotations_of(live)
        or owners_of(live).ours is not None
    )


def _kept_because(key: ResourceKey, live: JsonObject, found: tuple[JsonObject, ...], fleet: Fleet) -> str:
    """Why an object of ours is no candidate for deletion; empty when it is one."""
    if being_deleted(live):
        return "it is being deleted already"
    written = fleet.inventory.get(key)
    if written is None:
        return "it is not in the inventory of what we wrote"
    if key.kind is Kind.MODULE_INFO:
        return _module_kept_because(key, live, found)
    if written.uid != uid_of(live):
        return "it is not the object we wrote: somebody deleted that one and made another"
    if protected := never_deleted(key):
        return protected
    label = labels_of(live).get(FLEET_LABEL)
    if label is None or not fleet.is_ours(label):
        return f"its label {FLEET_LABEL} is {'gone' if label is None else label}"
    if key not in fleet.git_wins and is_edited(key, live, written):
        return "it was changed by hand since we wrote it"
    return ""


def _module_kept_because(key: ResourceKey, live: JsonObject, found: tuple[JsonObject, ...]) -> str:
    """The platform re-creates a ModuleInfo, so neither uid nor label can be asked for."""
    if len([instance for instance in found if not being_deleted(instance)]) > 1:
        return "it stands in the cluster more than once"
    if key.name == MACHINE_CONFIG_MODULE and annotations_of(live).get(PRUNE_ANNOTATION) != "confirmed":
        return (
            f'module {MACHINE_CONFIG_MODULE} is only removed when it carries {PRUNE_ANNOTATION}: "confirmed"'
        )
    return ""


def never_deleted(key: ResourceKey) -> str:
    """Why an object of this name stays whatever Git says; empty where it may go."""
    match key.kind:
        case Kind.MACHINE_CONFIGURATION:
            return (
                "a MachineConfiguration is never deleted; keep a manifest without the entries to remove them"
            )
        case Kind.MACHINE_CONFIG_POOL if key.name in BUILT_IN_POOLS:
            return f"pool {key.name} is never deleted"
        case Kind.MACHINE_CONFIG if is_protected_config(key.name):
            return f"MachineConfig {key.name} belongs to the operator"
        case _:
            return ""
