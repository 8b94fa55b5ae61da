"""One live object that is to be written into the repository, or the reason why it is not."""

from __future__ import annotations

from dataclasses import dataclass

from gitops_mc.core.model import (
    FLEET_LABEL,
    JsonObject,
    ResourceKey,
    being_deleted,
    is_object_name,
    labels_of,
    metadata,
)
from gitops_mc.core.policy import DEFAULT_FLEET


@dataclass(frozen=True, slots=True)
class Picked:
    """A live object, as much of it as belongs into the repository."""

    key: ResourceKey
    body: JsonObject
    """A manifest of it, contents still as data URLs."""
    live: JsonObject
    managers: tuple[str, ...] = ()
    """Field managers that own something of it, beside us and the operator."""
    partial: bool = False
    """Only what somebody set, of an object that the operator or the platform made or filled in."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An object that is not written, and why. Without a reason it is the operator's own, and nobody expects it."""

    key: ResourceKey
    reason: str


def may_be_taken(key: ResourceKey, live: JsonObject, fleet: str) -> LeftOut | None:
    """What keeps an object of any kind from being governed from this repository."""
    if being_deleted(live):
        return LeftOut(key, "it is being deleted")
    if not is_object_name(key.name):
        return LeftOut(key, "its name is none that a manifest may have")
    label = labels_of(live).get(FLEET_LABEL)
    if label is not None and label not in (fleet, DEFAULT_FLEET):
        return LeftOut(key, f"it carries the label {FLEET_LABEL}={label}: another fleet governs it")
    for owner in metadata(live).get("ownerReferences") or ():
        if isinstance(owner, dict) and owner.get("controller") is True:
            return LeftOut(
                key, f"{owner.get('kind', 'an object')} {owner.get('name', '')} makes and keeps it"
            )
    return None
