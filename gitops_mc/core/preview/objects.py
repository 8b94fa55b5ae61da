"""What becomes of the objects of one cluster: manifests that come, change and go, and those that stay in spite of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gitops_mc.core.diff import never_deleted
from gitops_mc.core.ignition import keep_live_encoding
from gitops_mc.core.model import (
    MACHINE_CONFIG_MODULE,
    PRUNE_ANNOTATION,
    DesiredCluster,
    JsonObject,
    Kind,
    Manifest,
    canonical_json,
)
from gitops_mc.core.plan.deletions import too_many
from gitops_mc.core.policy import Prune
from gitops_mc.core.preview.changed import ChangeOf, ModuleChange, ObjectChange
from gitops_mc.core.raw import section, text
from gitops_mc.core.remembered import Remembered
from gitops_mc.core.rules import place_of


def object_changes(
    before: Sequence[Manifest],
    after: Sequence[Manifest],
    prune: Prune,
    same: Callable[[JsonObject, JsonObject], bool],
) -> tuple[ObjectChange, ...]:
    """By key. `prune`: what holds while head is carried out; `same`: whether two bodies are the same JSON."""
    earlier, later = {m.key: m for m in before}, {m.key: m for m in after}
    found = []
    for key in sorted(earlier.keys() | later.keys()):
        was, will = earlier.get(key), later.get(key)
        if was is None:
            found.append(ObjectChange(key, ChangeOf.ADDED, None, will))
        elif will is None:
            found.append(ObjectChange(key, ChangeOf.REMOVED, was, None, kept_because(was, prune)))
        elif not same(was.body, will.body):
            found.append(ObjectChange(key, ChangeOf.CHANGED, was, will))
    return tuple(found)


def prune_of(before: Prune, after: Prune) -> Prune:
    """A limit that head loosens holds from the next commit on."""
    return Prune(before.enabled and after.enabled, min(before.max_deletes, after.max_deletes))


def kept_because(gone: Manifest, prune: Prune) -> str:
    """Why an object stays when its manifest goes; empty where Git knows of nothing that keeps it."""
    if protected := never_deleted(gone.key):
        return protected
    wish = gone.annotations.get(PRUNE_ANNOTATION)
    if gone.key.kind is Kind.MODULE_INFO and gone.key.name == MACHINE_CONFIG_MODULE and wish != "confirmed":
        return (
            f'module {MACHINE_CONFIG_MODULE} is only removed when it carries {PRUNE_ANNOTATION}: "confirmed"'
        )
    if wish == "disabled":
        return f'{PRUNE_ANNOTATION}: "disabled" stands on it'
    return "" if prune.enabled else "prune is not enabled in fleet.yaml"


def refused_deletions(objects: Sequence[ObjectChange], prune: Prune) -> tuple[str, ...]:
    """Why so many deletions would not be carried out; none where they would be, as far as Git says."""
    going = [found.key for found in objects if found.change is ChangeOf.REMOVED and not found.kept]
    if len(going) <= prune.max_deletes:
        return ()
    return (too_many(going, f"more than prune.maxDeletes ({prune.max_deletes})").reason,)


def standing_after(before: DesiredCluster, after: DesiredCluster, prune: Prune) -> DesiredCluster:
    """What the cluster has once head is carried out: what head says, what stays although it is gone from Git, and contents in the
    encoding that they have already wherever both mean the same (so the engine writes them). A pool stays as long as it has nodes,
    and these go with what it selects.
    """
    earlier = {m.key: m for m in before.manifests}
    manifests = {m.key: _as_written(m, earlier.get(m.key)) for m in after.manifests}
    for key, gone in earlier.items():
        stays = key.kind is Kind.MACHINE_CONFIG_POOL or kept_because(gone, prune)
        if key not in manifests and stays:
            manifests[key] = gone
    return replace(after, manifests=tuple(manifests[key] for key in sorted(manifests)))


def _as_written(manifest: Manifest, before: Manifest | None) -> Manifest:
    if before is None or manifest.key.kind is not Kind.MACHINE_CONFIG or before.body is manifest.body:
        return manifest
    was, will = before.body, manifest.body
    return replace(manifest, body=_WRITTEN.get((was, will), (), lambda: keep_live_encoding(will, was)))


_WRITTEN: Remembered[JsonObject] = Remembered()


def module_changes(objects: Sequence[ObjectChange]) -> Iterator[ModuleChange]:
    """What becomes of modules."""
    for found in objects:
        if found.key.kind is Kind.MODULE_INFO and not found.kept:
            shown = found.after or found.before
            yield ModuleChange(
                found.key.name,
                found.change,
                _version(found.before),
                _version(found.after),
                config=_besides(found.before) != _besides(found.after),
                place=None if shown is None else place_of(shown, ("spec", "version")),
            )


def _version(manifest: Manifest | None) -> str:
    return "" if manifest is None else text(section(manifest.body, "spec"), "version")


def _besides(manifest: Manifest | None) -> bytes:
    """All that the manifest says of the module besides its version."""
    spec = {} if manifest is None else section(manifest.body, "spec")
    said = {key: value for key, value in spec.items() if key != "version" and value not in ({}, [], "", None)}
    return canonical_json(said)
